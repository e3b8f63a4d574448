"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Charts take the colours of the page, so that they are seen by day, by night and on paper.
  function config() {
    const ink = colour("--ink"), soft = colour("--soft"), line = colour("--line");
    return {
      background: "transparent",
      font: "system-ui, sans-serif",
      axis: { labelColor: soft, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelLimit: 160 },
      legend: { labelColor: ink, titleColor: ink, labelLimit: 320 },
      header: { labelColor: ink, titleColor: ink },
      title: { color: ink },
      text: { color: ink },
      view: { stroke: line },
      range: { category: [colour("--noisy"), colour("--synthetic"), "#7a9a3a", "#9a5fb5"] },
    };
  }

  // In a specification, not in its data, a name such as $noisy is a colour of the page.
  const OURS = new Map(["noisy", "synthetic", "ink", "soft"].map((name) => [`$${name}`, `--${name}`]));

  async function draw(chart) {
    const place = document.getElementById(chart.name);
    const { data, ...how } = chart.spec;
    const coloured = JSON.parse(JSON.stringify(how), (_, value) => (OURS.has(value) ? colour(OURS.get(value)) : value));
    await vegaEmbed(place, { data, ...coloured }, { renderer: "svg", actions: false, config: config() });
    chart.drawn = true;
  }

  // A chart that is hidden has no width: it is drawn when it is first seen.
  const seen = (chart) => document.getElementById(chart.name).closest("[hidden]") === null;
  const drawAll = (again) => Promise.all(charts.filter((c) => (seen(c) && (again || !c.drawn)) || (again && c.drawn)).map(draw));

  for (const select of document.querySelectorAll(".choice select")) {
    select.addEventListener("change", () => {
      const figures = select.closest(".choice").nextElementSibling.children;
      [...figures].forEach((figure, i) => { figure.hidden = i !== Number(select.value); });
      drawAll(false);
    });
  }
  dark.addEventListener("change", () => drawAll(true));
  drawAll(false).then(() => { document.documentElement.dataset.ready = "true"; });
})();

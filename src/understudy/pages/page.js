"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Charts take the colours of the page, so that they are seen by day, by night and on paper.
  function config(room) {
    const ink = colour("--ink"), soft = colour("--soft"), line = colour("--line");
    return {
      background: "transparent",
      font: "system-ui, sans-serif",
      axis: { labelColor: soft, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelLimit: room < NARROW ? 110 : 160, labelFlush: false },
      legend: { labelColor: ink, titleColor: ink, labelLimit: 320, ...(room < NARROW && { columns: 1 }) },
      header: { labelColor: ink, titleColor: ink },
      title: { color: ink },
      text: { color: ink },
      view: { stroke: line },
      range: { category: [colour("--noisy"), colour("--synthetic"), "#7a9a3a", "#9a5fb5"] },
    };
  }

  // In a specification, not in its data, a name such as $noisy is a colour of the page.
  const OURS = new Map(["noisy", "synthetic", "ink", "soft"].map((name) => [`$${name}`, `--${name}`]));

  // On a narrow screen a chart is no wider than its place: its width shrinks, what stands side by side
  // stands below each other, and labels take less room.  What is still wider is scaled down by the style.
  const NARROW = 560, LABELS = 130;
  function fitted(spec, room) {
    if (room >= NARROW) return spec;
    const fit = JSON.parse(JSON.stringify(spec), (key, value) => (
      key === "labelLimit" ? Math.min(value, 110) : key === "legend" && value && value.columns ? { ...value, columns: 2 } : value
    ));
    if (typeof fit.width === "number") fit.width = Math.min(fit.width, Math.max(160, room - LABELS));
    if (fit.hconcat) {
      fit.vconcat = fit.hconcat.map((view) => {
        const side = Math.min(view.width, Math.max(160, room - LABELS));
        const y = { ...view.encoding.y, axis: { ...view.encoding.y.axis, labels: true, ticks: true } };
        return { ...view, width: side, height: side, encoding: { ...view.encoding, y } };
      });
      delete fit.hconcat;
    }
    if (fit.facet && fit.facet.column) { fit.facet = { ...fit.facet, row: fit.facet.column }; delete fit.facet.column; }
    return fit;
  }

  async function draw(chart) {
    const place = document.getElementById(chart.name);
    const { data, ...how } = chart.spec;
    const coloured = JSON.parse(JSON.stringify(how), (_, value) => (OURS.has(value) ? colour(OURS.get(value)) : value));
    const room = place.clientWidth;
    chart.room = room;
    await vegaEmbed(place, { data, ...fitted(coloured, room) }, { renderer: "svg", actions: false, config: config(room) });
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
  // A phone that is turned, or a window that is made narrow, gets its charts anew.
  let turned;
  window.addEventListener("resize", () => {
    clearTimeout(turned);
    turned = setTimeout(() => {
      const crossed = charts.some((c) => c.drawn && seen(c) && (c.room < NARROW || document.getElementById(c.name).clientWidth < NARROW));
      if (crossed) drawAll(true);
    }, 250);
  });
  drawAll(false).then(() => { document.documentElement.dataset.ready = "true"; });
})();

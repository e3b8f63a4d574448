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
      axis: { labelColor: soft, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelLimit: room < NARROW ? 175 : 260, labelSeparation: 8, titleLimit: Math.max(190, room - 340) },
      axisX: room < NARROW ? { titleAnchor: "end", titleAlign: "right", titleLimit: room - 30 } : {},
      legend: { labelColor: ink, titleColor: ink, labelLimit: 320, ...(room < NARROW && { columns: 1, orient: "top", layout: { top: { direction: "vertical" } } }) },
      header: { labelColor: ink, titleColor: ink },
      title: { color: ink },
      text: { color: ink },
      view: { stroke: line },
      range: { category: [colour("--noisy"), colour("--synthetic"), "#7a9a3a", "#9a5fb5"] },
    };
  }

  // In a specification, not in its data, a name such as $noisy is a colour of the page.
  const OURS = new Map(["noisy", "synthetic", "ink", "soft"].map((name) => [`$${name}`, `--${name}`]));

  // A chart takes the width of its place, labels included, but does not grow out of proportion; a fixed one,
  // or a map, only shrinks.  On a narrow screen what stands side by side stands below each other, and labels
  // take less room.  What is still wider is scaled down by the style.
  const NARROW = 560, LABELS = 150, GROWS = 1.95;
  const fits = (spec) => typeof spec.width === "number" && !spec.projection && !(spec.usermeta && spec.usermeta.fixed);
  function widened(spec, room) {
    if (typeof spec.width !== "number") return spec;
    if (!fits(spec)) return { ...spec, width: Math.min(spec.width, room - 70) };
    return { ...spec, width: Math.min(room, room < NARROW ? room : GROWS * spec.width) };
  }
  // As many columns of a legend as its names have room for, at about six pixels a letter.
  function listed(encoding, room) {
    const { legend, scale } = encoding;
    if (!legend || !legend.columns || !scale || !scale.domain) return encoding;
    const labelLimit = room < NARROW ? 150 : legend.labelLimit || 260;
    const longest = Math.min(labelLimit, Math.max(...scale.domain.map((name) => 6 * String(name).length))) + 35;
    const columns = Math.max(1, Math.min(legend.columns, Math.floor((room - LABELS) / longest)));
    return { ...encoding, legend: { ...legend, columns, labelLimit, ...(room < NARROW && { orient: "top" }) } };
  }
  function fitted(spec, room) {
    const wide = JSON.parse(JSON.stringify(widened(spec, room)), (key, value) => (
      (key === "color" || key === "shape") && value && value.legend ? listed(value, room) : value
    ));
    if (room >= NARROW) return wide;
    const fit = JSON.parse(JSON.stringify(wide), (key, value) => (key === "labelLimit" ? Math.min(value, 175) : value));
    if (fit.hconcat) {
      fit.vconcat = fit.hconcat.map((view) => {
        const side = Math.min(view.width, Math.max(160, room - LABELS)), { x, y } = view.encoding;
        const size = { labelFontSize: Math.max(6, Math.min(10, side / fit.usermeta.across - 1)) };
        const axes = { x: { ...x, axis: { ...x.axis, ...size } }, y: { ...y, axis: { ...y.axis, ...size, labels: true, ticks: true } } };
        return { ...view, width: side, height: side, encoding: { ...view.encoding, ...axes } };
      });
      delete fit.hconcat;
    }
    if (fit.facet && fit.facet.column) {
      fit.facet = { ...fit.facet, row: fit.facet.column };
      delete fit.facet.column;
      const step = Math.max(7, Math.floor((room - LABELS) / fit.usermeta.across));
      fit.spec = { ...fit.spec, width: { step: Math.min(fit.spec.width.step, step) } };
    }
    return fit;
  }

  async function draw(chart) {
    const place = document.getElementById(chart.name);
    const { data, ...how } = chart.spec;
    const coloured = JSON.parse(JSON.stringify(how), (_, value) => (OURS.has(value) ? colour(OURS.get(value)) : value));
    const room = place.clientWidth || PAPER;
    chart.room = room;
    const spec = fitted(coloured, room);
    // Labels are part of the width.
    const patch = (compiled) => (fits(spec) ? { ...compiled, autosize: { type: "fit-x", contains: "padding" } } : compiled);
    await vegaEmbed(place, { data, ...spec }, { renderer: "svg", actions: false, config: config(room), patch });
    chart.drawn = true;
    if (how.usermeta && how.usermeta.labels) say(place.querySelector("input[type=range]"), how.usermeta.labels);
  }

  // A slider tells its value, not the number of its step.
  function say(slider, labels) {
    const told = document.createElement("output");
    const tell = () => { told.textContent = labels[slider.value]; slider.setAttribute("aria-valuetext", told.textContent); };
    slider.parentElement.append(told);
    slider.addEventListener("input", tell);
    tell();
  }

  // A chart that is hidden has no width: it is drawn when it is first seen.
  const PAPER = 680; // For what is drawn only to be printed.
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
  // Paper has no choices: every chart is printed.
  window.addEventListener("beforeprint", () => { charts.filter((c) => !c.drawn).forEach(draw); });
  window.addEventListener("afterprint", () => { charts.filter((c) => !seen(c)).forEach((c) => { c.drawn = false; }); });
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

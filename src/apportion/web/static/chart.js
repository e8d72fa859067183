// Drawing with plotly.js in the colours of the page; SVG only, nothing to drag, nothing that needs a style of its own.

const CONFIG = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false, showTips: false };

/** The colour that a CSS expression has now, in light or dark. */
export function colour(expression) {
  const probe = document.createElement("span");
  probe.style.color = expression;
  probe.hidden = true;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

export function armColour(index) {
  return colour(`var(--arm-${index % 7})`);
}

/** The same colour, seen through. */
export function faint(rgb, alpha) {
  const parts = rgb.match(/[\d.]+/g) || ["0", "0", "0"];
  return `rgba(${parts.slice(0, 3).join(", ")}, ${alpha})`;
}

/** Text for plotly, which would take < and & for its own marks. */
export function safe(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A number as people read it. */
export function readable(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-6) return value > 0 ? "<0.000001" : ">-0.000001";
  const small = size < 1e-3 ? 2 - Math.floor(Math.log10(size)) : 2;
  const digits = Number.isInteger(value) ? 0 : Math.max(small, 4 - String(Math.trunc(size)).length);
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A probability: what was worked out from results is never quite 0 or 1. */
export function chance(value) {
  if (value < 5e-4) return "<0.1%";
  return value >= 0.9995 ? ">99.9%" : `${(100 * value).toFixed(1)}%`;
}

/** The layout that all charts share. */
export function layout(more = {}) {
  const ink = colour("var(--ink)");
  const soft = colour("var(--faint)");
  const line = colour("var(--line)");
  const axis = {
    gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line, tickfont: { color: soft, size: 12 },
    title: { font: { color: soft, size: 12 } }, fixedrange: true, automargin: true, exponentformat: "none",
    separatethousands: true,
  };
  const { xaxis = {}, yaxis = {}, ...rest } = more;
  return {
    autosize: true, margin: { l: 48, r: 12, t: 12, b: 40 }, paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)", font: { family: getComputedStyle(document.body).fontFamily, color: ink, size: 13 },
    hovermode: "x unified", dragmode: false,
    hoverlabel: { bgcolor: colour("var(--card)"), bordercolor: line, font: { color: ink, size: 12 } },
    legend: { orientation: "h", y: -0.2, x: 0, yanchor: "top", traceorder: "normal", font: { color: ink, size: 12 }, itemclick: false, itemdoubleclick: false },
    xaxis: { ...axis, ...xaxis, title: { ...axis.title, text: xaxis.title || "" } },
    yaxis: { ...axis, ...yaxis, title: { ...axis.title, text: yaxis.title || "" } },
    ...rest,
  };
}

/** Draw or draw again. */
export function draw(element, traces, shape) {
  if (!element || !window.Plotly) return;
  element.querySelectorAll(".chart-waiting").forEach((note) => note.remove());
  window.Plotly.react(element, traces, layout(shape), CONFIG);
}

/** A line with a light band: two invisible edges with the room between them filled. */
export function band(name, x, low, high, rgb, group) {
  const edge = { x, mode: "lines", line: { width: 0, color: rgb }, hoverinfo: "skip", showlegend: false, legendgroup: group };
  return [
    { ...edge, y: low, name: `${name}, low` },
    { ...edge, y: high, name: `${name}, high`, fill: "tonexty", fillcolor: faint(rgb, 0.09) },
  ];
}

/** Shares as stacked areas with steps: each holds from its ticket to the next. */
export function shareAreas(arms, periods, shares, end) {
  const x = [...periods, end];
  return arms.map((name, index) => ({
    name: safe(name), x, y: [...shares[name], shares[name].at(-1)].map((share) => (share === undefined ? 0 : 100 * share)),
    mode: "lines", stackgroup: "shares", line: { width: 0.5, color: armColour(index), shape: "hv" },
    fillcolor: faint(armColour(index), 0.8), hovertemplate: `${safe(name)}: %{y:.1f}%<extra></extra>`,
  }));
}

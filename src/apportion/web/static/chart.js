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

/** So many arms have a colour of their own; the next so many have the same colours with a pattern, and so on. */
export const COLOURS = 12;
const DASHES = ["solid", "dash", "dot", "dashdot"];
const HATCHES = ["", "/", "x", "."];
const PATTERNS = DASHES.length;

export function armColour(index) {
  return colour(`var(--arm-${index % COLOURS})`);
}

function pattern(index) {
  return Math.floor(index / COLOURS) % PATTERNS;
}

/** The classes of a swatch or a bar of an arm: as `arm_classes` of the server has them. */
export function armClasses(index) {
  return `arm-${index % COLOURS}${pattern(index) ? ` pattern-${pattern(index)}` : ""}`;
}

/** The line of an arm: any two of the first 48 differ in colour or dashes. */
export function armLine(index, width = 2.2) {
  return { color: armColour(index), width, dash: DASHES[pattern(index)] };
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

/** A name for a legend: a long one goes on in the next line. */
export function wrapped(name, longest = 36) {
  const lines = [""];
  for (const word of String(name).split(/(?<=[\s/_-])/)) {
    for (let rest = word; rest; rest = rest.slice(longest)) {
      if (lines.at(-1) && (lines.at(-1) + rest.trimEnd()).length > longest) lines.push("");
      lines[lines.length - 1] += rest.slice(0, longest);
    }
  }
  return lines.map(safe).join("<br>");
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
    hovermode: "x unified", hoverdistance: -1, dragmode: false, // the nearest, however far: few splits lie far apart
    hoverlabel: { bgcolor: colour("var(--card)"), bordercolor: line, font: { color: ink, size: 12 } },
    legend: { orientation: "h", y: -0.2, x: 0, yanchor: "top", traceorder: "normal", font: { color: ink, size: 12 }, itemclick: false, itemdoubleclick: false, maxheight: 1 },
    xaxis: { ...axis, ...xaxis, title: { ...axis.title, text: xaxis.title || "" } },
    yaxis: { ...axis, ...yaxis, title: { ...axis.title, text: yaxis.title || "" } },
    ...rest,
  };
}

/** Draw or draw again. */
export function draw(element, traces, shape) {
  if (!element || !window.Plotly) return;
  element.querySelectorAll(".chart-waiting").forEach((note) => note.remove());
  const named = traces.filter((trace) => trace.name && trace.showlegend !== false).map((trace) => trace.name.split("<br>"));
  element.style.height = shape.showlegend === false ? "" : `calc(var(--chart-height) + ${1.4 * legendRows(element, named)}rem)`;
  if (shape.xaxis?.type === "date") { // as many as there is room for, and never aslant over the legend
    shape.xaxis = { tickangle: 0, nticks: Math.max(3, Math.floor(element.clientWidth / 100)), ...shape.xaxis };
  }
  window.Plotly.react(element, traces, layout(shape), CONFIG);
  offerFiles(element);
}

/** The lines of a legend beyond the first two, for which there is room; its names are lists of lines. */
function legendRows(element, names) {
  const longest = Math.max(0, ...names.flat().map((line) => line.length));
  const across = Math.max(1, Math.floor(element.clientWidth / Math.max(150, 45 + 6.5 * longest)));
  let lines = 0;
  for (let n = 0; n < names.length; n += across) lines += Math.max(...names.slice(n, n + across).map((name) => name.length));
  return Math.max(0, lines - 2);
}

/** What a chart is called: by its label, or by the heading that it is labelled with. */
function nameOf(element) {
  const heading = document.getElementById((element.getAttribute("aria-labelledby") || "").split(" ")[0]);
  const own = element.getAttribute("aria-label") || heading?.textContent || "chart";
  return own.trim().replace(/[.:]$/, "");
}

/** Buttons below a chart to save what it shows now: a picture, and the numbers behind it. */
function offerFiles(element) {
  const known = element.nextElementSibling;
  if (known?.classList.contains("chart-files")) {
    known.hidden = false;
    return;
  }
  const tools = document.createElement("p");
  tools.className = "chart-files";
  for (const [kind, save] of [["PNG", savePicture], ["CSV", saveNumbers]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet small";
    button.textContent = `Save as ${kind}`;
    button.dataset.testid = `save-${kind.toLowerCase()}`;
    button.setAttribute("aria-label", `Save as ${kind}: ${nameOf(element)}`);
    button.addEventListener("click", () => save(element));
    tools.append(button);
  }
  element.after(tools);
}

/** Nothing is drawn any more: there is nothing to save. */
export function clear(element) {
  window.Plotly?.purge(element);
  if (element.nextElementSibling?.classList.contains("chart-files")) element.nextElementSibling.hidden = true;
}

function fileName(element, ending) {
  const parts = [document.body.dataset.campaign, nameOf(element), element.dataset.view].filter(Boolean);
  return `${parts.join(" ").replace(/[^\p{L}\p{N}._-]+/gu, "-")}.${ending}`;
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const ROOM = 30; // for the title of a saved picture

/** The chart as it is seen, on the colour of its card, in twice the size. */
async function savePicture(element) {
  const { width, height } = element.getBoundingClientRect();
  const title = [document.body.dataset.campaign, nameOf(element)].filter(Boolean).join(": ");
  const { margin, ...rest } = element.layout;
  const layout = {
    ...rest, paper_bgcolor: colour("var(--card)"), showlegend: true, margin: { ...margin, t: (margin.t || 0) + ROOM },
    title: { text: safe(title), x: 0.01, xanchor: "left", y: 0.98, yanchor: "top", font: { size: 14, color: colour("var(--ink)") } },
  };
  const url = await window.Plotly.toImage({ data: element.data, layout }, { format: "png", width, height: height + ROOM, scale: 2 });
  const bytes = Uint8Array.from(atob(url.split(",")[1]), (letter) => letter.charCodeAt(0));
  save(new Blob([bytes], { type: "image/png" }), fileName(element, "png"));
}

/** A cell of a table: quoted where need be, and no text that a spreadsheet would take for a formula. */
function cellText(value) {
  if (value === null || value === undefined) return "";
  let text = typeof value === "number" ? plainNumber(value) : String(value);
  if (typeof value !== "number" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Every digit, no power of ten. */
function plainNumber(value) {
  if (!Number.isFinite(value)) return "";
  const short = String(value);
  return short.includes("e") ? value.toFixed(20).replace(/\.?0+$/, "") : short;
}

/** The name of a trace as it was before it was made safe and wrapped. */
function plainName(trace) {
  if (trace.meta?.name) return trace.meta.name;
  return String(trace.name).replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** What is drawn as a table: a row for each place on the axis, a column for each line. */
export function table(element) {
  const traces = element.data.filter((trace) => trace.name && trace.x?.length);
  const places = new Map();
  traces.forEach((trace, column) => {
    trace.x.forEach((x, n) => {
      if (!places.has(x)) places.set(x, new Array(traces.length).fill(null));
      places.get(x)[column] = trace.y[n];
    });
  });
  const order = (one, two) => (one < two ? -1 : one > two ? 1 : 0);
  const rows = [...places.entries()].sort(([one], [two]) => order(one, two)).map(([x, values]) => [x, ...values]);
  const first = element.layout.xaxis.title?.text || (element.layout.xaxis.type === "date" ? "date" : "x");
  return [[first, ...traces.map(plainName)], ...rows];
}

function saveNumbers(element) {
  const text = table(element).map((row) => row.map(cellText).join(",")).join("\r\n");
  save(new Blob(["\ufeff", text, "\r\n"], { type: "text/csv;charset=utf-8" }), fileName(element, "csv"));
}

// On paper it is light, and as wide as the paper is.
addEventListener("beforeprint", () => repaint("light"));
addEventListener("afterprint", () => repaint(null));
let themeOnScreen = null;
function repaint(theme) {
  const root = document.documentElement;
  if (theme) themeOnScreen = root.dataset.theme;
  root.dataset.theme = theme || themeOnScreen;
  document.dispatchEvent(new CustomEvent("theme"));
  document.querySelectorAll(".js-plotly-plot").forEach((chart) => window.Plotly.Plots.resize(chart));
}

/** A line with a light band: two invisible edges with the room between them filled. */
export function band(name, x, low, high, rgb, group) {
  const edge = { x, mode: "lines", line: { width: 0, color: rgb }, hoverinfo: "skip", showlegend: false, legendgroup: group };
  return [
    { ...edge, y: low, name: `${name}, low`, meta: { name: `${group ?? name}, low` } },
    { ...edge, y: high, name: `${name}, high`, meta: { name: `${group ?? name}, high` }, fill: "tonexty", fillcolor: faint(rgb, 0.09) },
  ];
}

function areaColour(index) {
  return index === null ? colour("var(--edge)") : armColour(index); // no arm of its own: the others together
}

function areaPattern(index) {
  const shape = index === null ? "" : HATCHES[pattern(index)];
  if (!shape) return {};
  const rgb = faint(armColour(index), 0.8);
  return { fillpattern: { shape, bgcolor: rgb, fgcolor: colour("var(--card)"), fgopacity: 0.9, size: 6, solidity: 0.25 } };
}

/** Shares as stacked areas with steps: each holds from its ticket to the next. */
export function shareAreas(arms, periods, shares, end, indices = arms.map((_, index) => index)) {
  const x = [...periods, end];
  return arms.map((name, n) => [name, indices[n]]).map(([name, index]) => ({
    name: wrapped(name), meta: { name }, x, y: [...shares[name], shares[name].at(-1)].map((share) => (share === undefined ? 0 : 100 * share)),
    mode: "lines", stackgroup: "shares", line: { width: 0.5, color: areaColour(index), shape: "hv" },
    fillcolor: faint(areaColour(index), 0.8), ...areaPattern(index), hovertemplate: `${safe(name)}: %{y:.1f}%<extra></extra>`,
  }));
}

// What the charts of the laboratory share beside `chart.js`: a look for every policy, a legend, events, numbers.

import { COLOURS, armColour, draw as drawn, readable } from "./chart.js";

const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
const STROKES = { solid: "", dash: "7 3", dot: "2 2", dashdot: "7 3 2 3", longdash: "11 4" };

/** Ticks of a log axis at 1, 10, 100, 1,000. */
export const LOG = { type: "log", dtick: 1 };

/** How the policy of an index is drawn: any two of the first 60 differ in colour or dashes. */
export function look(index) {
  return { colour: armColour(index), dash: DASHES[index % DASHES.length] };
}

/** Draw with a legend of our own beside the chart. */
export function draw(element, traces, shape) {
  drawn(element, traces, { showlegend: false, hovermode: "closest", margin: { l: 52, r: 12, t: 8, b: 44 }, ...shape });
}

/** A short piece of the line, or a patch of the area, as it is drawn. */
export function key(index, kind) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "lab-key");
  svg.setAttribute("viewBox", "0 0 30 14");
  svg.setAttribute("aria-hidden", "true");
  const mark = document.createElementNS(svg.namespaceURI, kind === "area" ? "rect" : "line");
  const sizes = kind === "area" ? { x: 8, y: 0, width: 14, height: 14, rx: 3 } : { x1: 1, x2: 29, y1: 7, y2: 7 };
  for (const [name, value] of Object.entries(sizes)) mark.setAttribute(name, value);
  mark.setAttribute("class", `arm-${index % COLOURS}`);
  const dashes = kind === "bound" ? "2 3" : STROKES[DASHES[index % DASHES.length]];
  if (kind !== "area" && dashes) mark.setAttribute("stroke-dasharray", dashes);
  svg.append(mark);
  return svg;
}

/** What the lines and areas of a chart are. */
export function legend(element, items) {
  element.replaceChildren(...items.map((item) => {
    const entry = document.createElement("li");
    const label = document.createElement("span");
    label.textContent = item.label;
    entry.append(key(item.index, item.kind), label);
    return entry;
  }));
}

/** Reads server-sent events from the answer to a fetch: an EventSource cannot POST, and would ask again at the end. */
export async function events(answer, heard) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const parts = rest.split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const name = /^event: (.*)$/m.exec(part), data = /^data: (.*)$/m.exec(part);
      if (name && data) heard(name[1], JSON.parse(data[1]));
    }
  }
}

/** What to tell when a request did not lead to events. */
export async function refusal(answer) {
  if (answer.redirected || answer.status === 401) return "You are signed out. Load the page again to sign in, then run it again.";
  try {
    return (await answer.json()).detail || `The service answered ${answer.status}. Try again in a moment.`;
  } catch {
    return `The service answered ${answer.status}. Try again in a moment.`;
  }
}

/** Numbers that stand below each other: about four digits each. */
export function lined(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-3) return readable(value);
  const digits = size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A share as a percentage; a small one is not shown as 0, nor nearly all as all. */
export function percent(share) {
  if (share === 0 || share === 1) return `${100 * share}%`;
  if (share < 5e-4) return "<0.1%";
  return share >= 0.9995 ? ">99.9%" : `${(100 * share).toFixed(1)}%`;
}

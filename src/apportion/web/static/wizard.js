// The wizard without reloading: more rows and a preview in place. The same form works without any of this.

import { armClasses, band, colour, draw, readable, shareAreas } from "./chart.js";

const form = document.querySelector("form.wizard");
const rows = document.getElementById("arm-rows");

document.getElementById("add-row").addEventListener("click", (event) => {
  event.preventDefault();
  const row = rows.lastElementChild.cloneNode(true);
  const index = rows.children.length;
  row.querySelector(".swatch").className = `swatch ${armClasses(index)}`;
  for (const field of row.querySelectorAll("input")) {
    field.value = "";
    field.setAttribute("value", "");
    field.setAttribute("aria-label", field.getAttribute("aria-label").replace(/arm \d+/, `arm ${index + 1}`));
  }
  row.querySelector("input").placeholder = "";
  rows.append(row);
  row.querySelector("input").focus();
});

/** The arms of the file, where none was written yet. */
function takeArms(fresh) {
  const empty = [...rows.querySelectorAll("input[name=arm]")].every((field) => !field.value.trim());
  if (empty) rows.replaceChildren(...fresh.getElementById("arm-rows").childNodes);
}
document.addEventListener("looked", (event) => takeArms(event.detail));

/** Send the form for one part of the page, and put that part in place. */
async function send(button) {
  const part = button.dataset.part;
  const label = button.textContent;
  button.disabled = true;
  button.textContent = "Playing…";
  try {
    const body = new FormData(form);
    body.set("action", button.value);
    const answer = await fetch("/new", { method: "POST", body, headers: { "X-Live": "1", Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const updated = fresh.getElementById(`part-${part}`);
    if (!updated) {
      form.submit(); // the session may have ended: let the browser show what the service says
      return;
    }
    document.getElementById(`part-${part}`).replaceChildren(...updated.childNodes);
    preview();
  } catch {
    form.requestSubmit(button);
  } finally {
    const again = document.querySelector(`button[data-part=${part}]`) || button;
    again.disabled = false;
    again.textContent = label;
    again.focus({ preventScroll: true });
  }
}

form.addEventListener("submit", (event) => {
  if (!event.submitter?.dataset.part) return;
  event.preventDefault();
  send(event.submitter);
});

const LOW = { legend: { orientation: "h", y: -0.32, x: 0, yanchor: "top", traceorder: "normal", itemclick: false, itemdoubleclick: false } };

function preview() {
  const source = document.getElementById("preview-data");
  if (!source || !window.Plotly) return;
  const data = JSON.parse(source.textContent);
  const periods = data.gain.map((_, n) => n + 1);
  draw(document.getElementById("preview-shares"), shareAreas(data.arms, periods, data.shares, periods.length + 1), {
    xaxis: { title: "period" }, yaxis: { title: "% of the budget", range: [0, 100] }, ...LOW,
  });
  const own = colour("var(--arm-0)");
  const words = (name) => ({ customdata: data[name].map(readable), hovertemplate: "%{fullData.name}: %{customdata}<extra></extra>" });
  draw(document.getElementById("preview-gain"), [
    ...band("this campaign", periods, data.gain_low, data.gain_high, own, "own"),
    { name: "this campaign", x: periods, y: data.gain, mode: "lines", line: { color: own, width: 2.4 }, ...words("gain") },
    { name: "knowing the best split", x: periods, y: data.ceiling, mode: "lines", line: { color: colour("var(--faint)"), width: 1.6, dash: "dot" }, ...words("ceiling") },
  ], { xaxis: { title: "period" }, yaxis: { title: "beyond an even split", rangemode: "tozero" }, ...LOW });
}

document.addEventListener("theme", preview);
preview();

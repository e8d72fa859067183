// The chart of a forecast: what is expected of each period, the range, and what came.

import { band, colour, draw, safe } from "./chart.js";

const element = document.getElementById("forecast-chart");
let found = null;

function drawForecast() {
  const { periods } = found;
  const labels = periods.map((period, index) => period.date || `next ${index + 1}`);
  const column = (name) => periods.map((period) => period[name]);
  const unit = safe(element.dataset.unit);
  const accent = colour("var(--accent)");
  const came = periods.map((period) => (period.state === "compared" ? period.actual : null));
  const traces = [
    ...band("range", labels, column("returned_low"), column("returned_high"), accent, "range"),
    {
      name: "expected", x: labels, y: column("returned"), mode: "lines+markers", line: { color: accent, width: 2.2 },
      marker: { color: accent, size: 5 }, customdata: column("budget"), showlegend: came.some((value) => value !== null),
      hovertemplate: `%{y:,.4~g} expected of %{customdata:,.6~g} ${unit}<extra></extra>`,
    },
  ];
  if (came.some((value) => value !== null)) {
    traces.push({
      name: "came", x: labels, y: came, mode: "markers", marker: { color: colour("var(--good)"), size: 9, symbol: "diamond" },
      hovertemplate: "%{y:,.4~g} came<extra></extra>",
    });
  }
  draw(element, traces, {
    xaxis: { type: "category" }, yaxis: { title: element.dataset.minimise ? "is paid" : "comes back", rangemode: "tozero" },
  });
}

async function begin() {
  const response = await fetch(element.dataset.source, { headers: { Accept: "application/json" } });
  if (!response.ok) return;
  found = await response.json();
  if (!found.periods.length) return;
  drawForecast();
  document.documentElement.dataset.forecast = "1";
}

document.addEventListener("theme", () => found && drawForecast());
begin();

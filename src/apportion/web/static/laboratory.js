// Runs an experiment and shows what it finds: one POST whose answer is its events, so leaving the page ends it too.

import { faint, readable, safe } from "./chart.js";
import * as Curves from "./curves.js";
import * as LabForm from "./laboratory-form.js";

const at = (id) => document.getElementById(id);
let running = null; // { abort, run, cancelled }
let found = null; // the last result
let partial = null; // what a run under way has so far
let definition = null;
let unit = "return";
let spoken = 0;

// Running

function state(busy) {
  at("run").disabled = busy;
  at("run").textContent = busy ? "Running…" : "Run";
  at("cancel").hidden = !busy;
  at("lab-progress").hidden = !busy;
}

function say(words) {
  at("progress-words").textContent = words;
}

async function run() {
  LabForm.forgive();
  definition = LabForm.read();
  unit = LabForm.preset() && !LabForm.preset().family ? LabForm.preset().unit : "";
  const mine = { abort: new AbortController(), cancelled: false, ended: false };
  running = mine;
  partial = null;
  spoken = 0;
  at("progress-bar").removeAttribute("value");
  at("progress-figures").textContent = "";
  state(true);
  say("Starting.");
  at("cancel").focus();
  try {
    const answer = await fetch("/laboratory/runs", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(definition),
      signal: mine.abort.signal,
    });
    if (!(answer.headers.get("content-type") || "").startsWith("text/event-stream")) {
      stop(mine);
      LabForm.complain(await Curves.refusal(answer));
      return;
    }
    await Curves.events(answer, (name, data) => heard(mine, name, data));
    if (!mine.ended) lost(mine);
  } catch {
    if (!mine.ended) lost(mine);
  }
}

function stop(mine) {
  mine.ended = true;
  if (running === mine) {
    running = null;
    state(false);
  }
}

function lost(mine) {
  stop(mine);
  if (!mine.cancelled) LabForm.complain("The connection to the service was lost, so the experiment was stopped. Run it again.");
}

function heard(mine, name, data) {
  if (mine.ended) return;
  if (name === "started") mine.run = data;
  else if (name === "progress") showProgress(mine, data);
  else if (name === "failed") {
    stop(mine);
    LabForm.complain(data.detail);
  } else if (name === "result") {
    stop(mine);
    found = data;
    partial = null;
    showResult();
  }
}

function showProgress(mine, data) {
  at("progress-bar").value = data.done / data.total;
  const left = data.left === null ? "" : `, about ${data.left < 1.5 ? "a second" : `${Math.round(data.left)} s`} left`;
  at("progress-figures").textContent = `${data.done.toLocaleString("en")} of ${data.total.toLocaleString("en")} runs, ${Math.round(data.seconds)} s${left}`;
  const now = Date.now();
  if (now - spoken > 2500) { // for screen readers: now and then, not five times a second
    spoken = now;
    say(data.preparing.length
      ? `Preparing ${data.preparing.join(", ")}: the first run with a kind of noise is compiled once, then kept.`
      : `${Math.round((100 * data.done) / data.total)}% done.`);
  }
  if (data.means.some((mean) => mean)) {
    partial = { ...data, labels: mine.run.policies };
    showRegret();
  }
}

// Closing the connection stops the experiment, whichever process of the service has it.
function cancel() {
  const mine = running;
  if (!mine) return;
  mine.cancelled = true;
  const some = partial;
  stop(mine);
  mine.abort.abort();
  partial = null;
  at("lab-progress").hidden = false;
  at("progress-title").textContent = "Cancelled";
  at("progress-figures").textContent = "";
  if (!some) at("progress-bar").value = 0; // without a value it would go on moving
  at("empty-title").textContent = "Nothing to show yet";
  say(some
    ? `Stopped after ${some.done.toLocaleString("en")} of ${some.total.toLocaleString("en")} runs. ${found ? "Below is the experiment before." : "Change what you like and run again."}`
    : "Stopped. Change what you like and run again.");
  if (found) showResult(false);
  else reveal(false);
  at("run").focus();
}

function reveal(there) {
  at("lab-results").hidden = !there;
  at("lab-empty").hidden = there;
}

// Regret

function scale() {
  return document.querySelector('input[name="scale"]:checked').value;
}

function positive(values, log) {
  return log ? values.map((value) => (value > 0 ? value : null)) : values;
}

function showRegret() {
  const log = scale() === "log", band = at("band").value, whole = !partial;
  reveal(true);
  for (const id of ["lab-table-card", "lab-shares-card", "lab-again-card"]) at(id).hidden = !whole;
  if (!whole) at("lab-finding").textContent = "While it runs: means of the runs so far.";
  const periods = whole ? found.periods : partial.periods;
  const lines = whole ? found.policies : partial.means.map((mean, index) => ({ label: partial.labels[index], mean }));
  const traces = [], items = [];
  let top = 0;
  lines.forEach((line, index) => {
    items.push({ label: line.label, index });
    if (!line.mean) return;
    const look = Curves.look(index);
    if (whole && band !== "none") {
      const wide = band === "runs";
      const low = line.mean.map((mean, i) => (wide ? line.low[i] : mean - 2 * (line.error[i] || 0)));
      const high = line.mean.map((mean, i) => (wide ? line.high[i] : mean + 2 * (line.error[i] || 0)));
      const smallest = Math.min(...line.mean.filter((mean) => mean > 0)) / 10;
      const lower = log ? low.map((value) => (value > 0 ? value : smallest)) : low;
      traces.push({ x: periods, y: positive(high, log), mode: "lines", line: { width: 0 }, hoverinfo: "skip" });
      traces.push({ x: periods, y: lower, mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: faint(look.colour, 0.16), hoverinfo: "skip" });
      top = Math.max(top, ...high);
    }
    top = Math.max(top, ...line.mean);
    traces.push({
      x: periods, y: positive(line.mean, log), mode: "lines", name: line.label,
      line: { color: look.colour, dash: look.dash, width: 2.4 },
      hovertemplate: `%{y:,.4~r} lost by period %{x:,}<extra>${safe(line.label)}</extra>`,
    });
  });
  const beyond = [];
  if (whole && at("show-bounds").checked) {
    found.bounds.forEach((bound) => {
      const finite = bound.values.filter((value) => value !== null);
      if (!finite.length) return;
      const index = bound.policy === null ? 6 : bound.policy;
      if (!log && Math.min(...finite) > 1.6 * top) {
        beyond.push(bound);
        return;
      }
      items.push({ label: bound.label, index, kind: "bound" });
      traces.push({
        x: periods, y: positive(bound.values, log), mode: "lines", name: bound.label,
        line: { color: Curves.look(index).colour, dash: "dot", width: 1.6 },
        hovertemplate: `%{y:,.4~r}<extra>${safe(bound.label)}</extra>`,
      });
    });
  }
  showBounds(whole && at("show-bounds").checked ? found.bounds : [], beyond);
  Curves.legend(at("regret-legend"), items);
  const marks = log ? Curves.LOG : { rangemode: "tozero" };
  Curves.draw(at("regret-chart"), traces, {
    xaxis: { title: "periods", ...marks },
    yaxis: { title: unit ? `regret (${unit})` : "regret", ...marks, ...(log ? {} : { range: [0, 1.06 * top || 1] }) },
  });
}

function showBounds(bounds, beyond) {
  at("bounds-words").replaceChildren(...bounds.map((bound) => {
    const entry = document.createElement("li");
    const out = beyond.includes(bound) ? " It lies above this picture; log–log shows it." : "";
    const finite = bound.values.filter((value) => value !== null);
    const last = bound.kind === "lower" && finite.length ? ` At the end: ${readable(finite.at(-1))}.` : "";
    entry.textContent = `${bound.label}: ${bound.words}${last}${out}`;
    return entry;
  }));
}

// The rest of a result

function cell(text, label, tag) {
  const made = document.createElement(tag || "td");
  if (tag) {
    made.scope = "row";
    made.className = "arm-name";
  } else {
    made.className = "num";
    made.dataset.label = label;
  }
  made.append(text);
  return made;
}

// The spread of runs that are all alike is 0, but for rounding.
function exact(row, key) {
  return key === "se" && row.se !== null && row.se < 1e-12 * Math.abs(row.mean) ? 0 : row[key];
}

const counted = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

function showTable() {
  const names = [["mean", "mean"], ["se", "± s.e."], ["q50", "median"], ["q95", "95%"], ["q99", "99%"]];
  at("table-rows").replaceChildren(...found.table.map((row, index) => {
    const line = document.createElement("tr"), name = document.createElement("span");
    name.className = "in";
    const label = document.createElement("span");
    label.textContent = row.policy;
    name.append(Curves.key(index), label);
    line.append(cell(name, "", "th"), ...names.map(([key, title]) => cell(Curves.lined(exact(row, key)), title)));
    return line;
  }));
  const given = found.definition, what = unit ? ` in ${unit}` : "";
  at("table-caption").textContent =
    `Regret${what} after ${counted(given.horizon, "period")} over ${counted(given.replications, "run")}: ` +
    "the mean with its standard error, and what half, 95% and 99% of the runs stay below.";
}

function showShares() {
  const chosen = Number(at("shares-policy").value || 0), policy = found.policies[chosen];
  const preset = found.arms || [];
  const name = (layer) => layer.arms.length > 1
    ? `${layer.arms.length} other arms`
    : `${preset[layer.arms[0]] || `arm ${layer.arms[0] + 1}`} (${readable(found.instance.means[layer.arms[0]])})`;
  const traces = policy.shares.map((layer, index) => ({
    x: found.periods, y: layer.share.map((share) => 100 * share), mode: "lines", stackgroup: "all", name: name(layer),
    line: { width: 0.6, shape: "hvh", color: Curves.look(index).colour },
    fillcolor: faint(Curves.look(index).colour, index === 0 ? 0.85 : 0.5),
    hovertemplate: `%{y:.1f}% in period %{x:,}<extra>${safe(name(layer))}</extra>`,
  }));
  Curves.legend(at("shares-legend"), policy.shares.map((layer, index) => ({ label: name(layer), index, kind: "area" })));
  const last = policy.shares[0].share.at(-1), half = found.periods.findIndex((_, i) => policy.shares[0].share[i] >= 0.5);
  at("shares-words").textContent =
    `Mean over the runs. The best arm ends with ${Curves.percent(last)} of the resource` +
    (half >= 0 ? `; it has half from period ${found.periods[half].toLocaleString("en")} on or so.` : "; it never has half.");
  Curves.draw(at("shares-chart"), traces, {
    xaxis: { title: "periods", ...Curves.LOG, range: [0, Math.log10(found.periods.at(-1))] },
    yaxis: { range: [0, 100], ticksuffix: "%" },
  });
}

function showResult(fresh = true) {
  if (fresh) {
    const preset = LabForm.preset();
    found.arms = preset && JSON.stringify(preset.means) === JSON.stringify(found.instance.means) ? preset.arms : [];
    const chosen = Number(at("shares-policy").value || 0);
    at("shares-policy").replaceChildren(...found.policies.map((policy, index) => {
      const choice = document.createElement("option");
      choice.value = index;
      choice.textContent = policy.label;
      choice.selected = index === chosen;
      return choice;
    }));
    const cached = found.kept ? " It was run here before, so it is shown at once." : "";
    at("live-note").textContent = "";
    at("again-words").textContent =
      `Seed ${found.definition.seed}, ${found.instance.label}, apportion ${found.version}, code ${found.code.slice(0, 12)}; ` +
      `${found.seconds.toFixed(1)} s here.${cached} This gives the same numbers to the last bit, anywhere:`;
    at("again-python").textContent = found.python;
    at("again-status").textContent = "";
    history.replaceState(null, "", `#run=${encodeURIComponent(JSON.stringify(definition))}`);
  }
  showRegret();
  at("lab-finding").textContent = found.finding;
  showTable();
  showShares();
  if (fresh) at("lab-results").focus({ preventScroll: true });
  if (fresh && at("lab-results").getBoundingClientRect().top > innerHeight * 0.8) at("lab-results").scrollIntoView({ block: "start" });
}

// The same again, elsewhere

function save(name, kind, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function csv() {
  const quoted = (text) => `"${text.replace(/"/g, '""')}"`;
  const rows = ["policy,period,mean,standard error,5%,95%"];
  for (const policy of found.policies) {
    found.periods.forEach((period, i) => rows.push(
      [quoted(policy.label), period, policy.mean[i], policy.error[i] ?? "", policy.low[i], policy.high[i]].join(",")));
  }
  return rows.join("\n") + "\n";
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    at("again-status").textContent = `${what} copied.`;
  } catch {
    at("again-status").textContent = "The browser does not let pages copy here: select the text and copy it yourself.";
  }
}

function fromLink() {
  const given = /^#run=(.+)$/.exec(location.hash);
  if (!given) return;
  try {
    LabForm.fill(JSON.parse(decodeURIComponent(given[1])));
    at("live-note").textContent = "The link filled in the experiment. Press Run to get its numbers.";
  } catch {
    LabForm.complain("The link to an experiment cannot be read: it may have been cut off. Fill in the form instead.");
  }
}

at("lab-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!running) {
    at("progress-title").textContent = "Running";
    run();
  }
});
at("cancel").addEventListener("click", cancel);
for (const input of document.querySelectorAll('input[name="scale"], #band, #show-bounds')) {
  input.addEventListener("change", () => (found || partial) && showRegret());
}
at("shares-policy").addEventListener("change", showShares);
at("copy-python").addEventListener("click", () => copy(found.python, "Python"));
at("copy-link").addEventListener("click", () => copy(location.href, "Link"));
at("save-csv").addEventListener("click", () => save("experiment.csv", "text/csv", csv()));
at("save-json").addEventListener("click", () => save("experiment.json", "application/json", JSON.stringify(found, null, 1)));
document.addEventListener("theme", () => {
  if (found && !partial) showResult(false);
});
addEventListener("pagehide", () => running && running.abort.abort());
fromLink();

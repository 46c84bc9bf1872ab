// The head of the report: where the results come from, and what failed.
const shown_value = value => typeof value === "string" ? value : JSON.stringify(value);

// An object as pairs of name and value; the names of what is inside are joined by dots.
function facts_of(value, name = "", depth = 0) {
  const inside = value && typeof value === "object" && (!Array.isArray(value) || value.some(entry => entry && typeof entry === "object"));
  if (!inside || depth > 3 || !Object.keys(value).length) return [[name, shown_value(value)]];
  return Object.entries(value).flatMap(([key, entry]) => {
    const part = Array.isArray(value) ? String(Number(key) + 1) : key;
    return facts_of(entry, name ? `${name}.${part}` : part, depth + 1);
  });
}
// What a reader asks first, by its name in run.json; of several sessions, the last.
const CHIPS = [["model", "model"], ["weights", "fingerprint.weights"], ["dtype", "dtype"], ["device", "device"], ["version", "version"],
               ["commit", "commit"], ["seed", "seed"], ["date", "started"]];

function show_provenance() {
  const run = data.run && typeof data.run === "object" ? data.run : {};
  by_id("title").textContent = ["Counterbeam", data.experiment, data.model || run.model].filter(Boolean).join(" \u00b7 ");
  document.title = [data.experiment, data.model || run.model, "Counterbeam report"].filter(Boolean).join(" \u00b7 ");
  const samples = questions.reduce((sum, q) => sum + q.samples.length, 0);
  by_id("about").textContent = `${tasks.map(t => `${t.task}: ${plural(Math.max(...t.methods.map(m => m.questions)), "question")}`).join(", ")}; ` +
    `${plural(methods.length, "method")}; ${plural(samples, "sample")}.`;
  const facts = Object.keys(run).length ? facts_of(run) : [], place = by_id("provenance");
  if (!facts.length) return;
  const chips = make("ul", place, undefined, {class: "chips", "aria-label": "Provenance"});
  for (const [text, key] of CHIPS) {
    const value = (facts.find(([name]) => name === key) || facts.findLast(([name]) => name.endsWith(`.${key}`)) || [])[1];
    if (value === undefined || value === "") continue;
    const chip = make("li", chips, undefined, {title: value});
    make("b", chip, text);
    chip.append(text === "weights" || text === "commit" ? value.slice(0, 12) : clip(value, 48));
  }
  const details = make("details", place);
  make("summary", details, "Everything that was recorded of the run");
  const list = make("dl", details, undefined, {class: "facts"});
  for (const [name, value] of facts) {
    make("dt", list, name);
    make("dd", list, value);
  }
}
// Failed samples by cause, whatever task and method they belong to.
function failures_by_cause() {
  const causes = new Map();
  for (const failure of data.summary.failures || []) {
    const entry = causes.get(failure.cause) || {cause: failure.cause, samples: 0, places: []};
    entry.samples += failure.samples;
    entry.places.push(`${failure.task}, ${name_of(failure.method)}: ${failure.samples}`);
    causes.set(failure.cause, entry);
  }
  return [...causes.values()].sort((a, b) => b.samples - a.samples);
}
// Only with --allow-failures: otherwise such a model is refused.
function show_damage() {
  const damage = data.run && data.run.damaged_weights;
  if (!damage) return;
  const box = make("div", by_id("failures"), undefined, {class: "alarm", role: "alert"});
  make("b", box, "The weights of the model are damaged.");
  box.append(` ${clip(String(damage), 300)}: no figure below says anything about the model. Download the checkpoint again.`);
}
function show_failures() {
  const list = failures_by_cause(), total = list.reduce((sum, entry) => sum + entry.samples, 0);
  if (!total) return;
  const all = questions.reduce((sum, q) => sum + q.samples.length, 0);
  const box = make("div", by_id("failures"), undefined, {class: "alarm", role: "alert"});
  make("b", box, `${plural(total, "sample")} of ${all.toLocaleString("en")} failed.`);
  box.append(" They were not graded, and no figure below counts them. ");
  button(box, "show them", () => show_questions_with("failed"), {class: "quiet"});
  const causes = make("ul", box);
  for (const entry of list.slice(0, 8))
    make("li", causes, `${entry.samples} \u00d7 ${clip(entry.cause, 300)} (${clip(entry.places.join("; "), 240)})`);
  if (list.length > 8) make("li", causes, `and ${plural(list.length - 8, "other cause")}; summary.json has all`);
}

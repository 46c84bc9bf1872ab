// Methods and their settings, as the server describes them (GET /v1/methods), and the form for one column of answers. A column is
// {method, values}: only values that differ from the method's defaults are kept and sent.
const FIRST_SETTINGS = ["steer", "contexts", "beams", "block", "max-tokens", "temperature", "alpha", "draws", "steps", "policy"];

class Catalogue {
  constructor(described) {
    this.methods = described.data;
    this.contexts = described.contexts ?? [];
  }
  method(name) { return this.methods.find(method => method.name === name) ?? this.methods[0]; }
  // The settings of a column's method, the usual ones first, with the defaults that hold beside its other values.
  settings_of({method, values}) {
    const order = setting => (FIRST_SETTINGS.indexOf(setting.name) + 1) || FIRST_SETTINGS.length + 1;
    const holds = when => String(values[when.setting] ?? this.method(method).settings.find(one => one.name === when.setting)?.default) === String(when.value);
    return this.method(method).settings.map(setting => ({...setting, default: setting.default_when?.find(holds)?.default ?? setting.default}))
      .sort((a, b) => order(a) - order(b));
  }
  // A short name: the method, and what differs from its defaults.
  label(column) {
    return [column.method, ...Object.entries(column.values ?? {}).map(([name, value]) => `${name} ${clip_words(String(value), 24)}`)].join(", ");
  }
  // All settings of a column, as a trace has them.
  all_values(column) {
    return {...Object.fromEntries(this.settings_of(column).map(setting => [setting.name, setting.default])), ...column.values, method: column.method};
  }
}
const clip_words = (text, most) => text.length > most ? `${text.slice(0, most - 1)}\u2026` : text;

class SettingsDialog {
  constructor(catalogue) {
    this.catalogue = catalogue;
    this.dialog = by_id("settings");
    this.form = by_id("settings-form");
    this.dialog.addEventListener("click", event => { if (event.target === this.dialog) this.close(); });
    this.dialog.addEventListener("close", () => this.close());  // by Escape
    by_id("settings-close").addEventListener("click", () => this.close());
    by_id("settings-reset").addEventListener("click", () => { this.column.values = {}; this.fill(); });
  }
  open(column, done) {
    this.column = column;
    this.done = done;
    this.fill();
    this.dialog.showModal();
  }
  close() {
    const {done} = this;
    this.done = undefined;
    this.dialog.close();
    if (done) done();
  }
  fill() {
    const {form, catalogue, column} = this, method = catalogue.method(column.method);
    form.replaceChildren();
    const field = this.field(form, "method", method.help), select = make("select", undefined, undefined, {id: "setting-method", "aria-describedby": "help-method", autofocus: ""});
    field.insertBefore(select, field.lastChild);
    options(select, catalogue.methods.map(one => [one.name, one.name]));
    select.value = column.method;
    select.addEventListener("change", () => {
      const known = new Set(catalogue.method(select.value).settings.map(setting => setting.name));
      column.values = Object.fromEntries(Object.entries(column.values).filter(([name]) => known.has(name) || name === "seed"));
      column.method = select.value;
      this.fill();
      by_id("setting-method").focus();
    });
    const settings = catalogue.settings_of(column), usual = settings.filter(setting => FIRST_SETTINGS.includes(setting.name));
    for (const setting of usual) this.row(form, setting);
    const more = make("details", form, undefined, {class: "more"});
    make("summary", more, "More settings");
    for (const setting of settings.filter(setting => !usual.includes(setting))) this.row(more, setting);
    this.row(more, {name: "seed", type: "INT", default: "", least: 0, most: 2 ** 53 - 1, help: "The same seed, question and settings give the same answer"});
    more.open = [...more.querySelectorAll("[data-setting]")].some(input => input.dataset.setting in column.values);
  }
  field(parent, name, help) {
    const box = make("div", parent, undefined, {class: "field"});
    make("label", box, name, {for: `setting-${name}`});
    make("p", box, help, {class: "note", id: `help-${name}`});
    return box;
  }
  row(parent, setting) {
    const {column} = this, box = this.field(parent, setting.name, this.help(setting)), value = column.values[setting.name] ?? setting.default;
    const common = {id: `setting-${setting.name}`, "aria-describedby": `help-${setting.name}`, "data-setting": setting.name};
    const choices = setting.name === "contexts" ? [...new Set([...this.catalogue.contexts.map(pair => pair.name), "neutral", "none", String(value)])] : setting.choices ?? [];
    let input;
    if (choices.length) {
      input = make("select", undefined, undefined, common);
      options(input, choices.map(choice => [choice, choice]));
      input.value = value;
    } else if (typeof setting.default === "boolean") {
      input = make("input", undefined, undefined, {...common, type: "checkbox"});
      input.checked = value;
    } else if (["INT", "NUMBER"].includes(setting.type)) {
      const range = setting.most === undefined ? {} : {min: setting.least, max: setting.most};
      input = make("input", undefined, undefined, {...common, type: "number", step: setting.type === "INT" ? 1 : "any", ...range});
      input.value = value;
    } else {
      input = make("textarea", undefined, undefined, {...common, rows: 2});
      input.value = value;
    }
    box.insertBefore(input, box.lastChild);
    input.addEventListener("change", () => this.change(setting, input));
    if (setting.name === "contexts") this.show_pair(input, value);
  }
  help(setting) {
    const range = setting.most !== undefined && setting.name !== "seed" ? `, ${setting.least} to ${setting.most}` : "", shown = String(setting.default).trim();
    return `${setting.help} (default ${setting.name === "seed" ? "another each time" : shown === "" ? "empty" : shown}${range})`;
  }
  change(setting, input) {
    const empty = input.type === "number" && input.value === "";
    const value = input.type === "checkbox" ? input.checked : input.type === "number" && !empty ? Number(input.value) : input.value;
    const valid = input.checkValidity() && !(empty && setting.default !== "");
    input.setAttribute("aria-invalid", String(!valid));
    if (!valid) {
      input.reportValidity();
      return;
    }
    if (value === setting.default) delete this.column.values[setting.name];
    else this.column.values[setting.name] = value;
    if (setting.name === "contexts") this.show_pair(input, value);
    if (setting.name === "policy") this.fill();  // other defaults depend on it
  }
  show_pair(input, name) {
    const pair = this.catalogue.contexts.find(one => one.name === name), note = input.parentElement.querySelector(".note");
    note.textContent = pair ? `Positive: \u201c${pair.positive}\u201d Negative: \u201c${pair.negative}\u201d` : this.help(this.catalogue.method(this.column.method).settings.find(one => one.name === "contexts"));
  }
}

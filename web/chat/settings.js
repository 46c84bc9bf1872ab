// Methods and their settings, as the server describes them (GET /v1/methods), and the form for one column of answers. A column is
// {method, values}: only values that differ from the method's defaults are kept and sent.
const FIRST_SETTINGS = ["steer", "contexts", "beams", "block", "max-tokens", "temperature", "alpha", "draws", "steps", "policy"];

class Catalogue {
  constructor(described) {
    this.methods = described.methods ?? [];
    this.settings = new Map((described.settings ?? []).map(setting => [setting.name, setting]));
    this.contexts = described.contexts ?? [];
  }
  method(name) { return this.methods.find(method => method.name === name) ?? this.methods[0]; }
  // The settings of a method with their defaults, the usual ones first.
  settings_of(name) {
    const order = setting => (FIRST_SETTINGS.indexOf(setting.name) + 1) || FIRST_SETTINGS.length + 1;
    return Object.entries(this.method(name)?.settings ?? {}).map(([key, value]) => ({...this.settings.get(key), name: key, default: value}))
      .sort((a, b) => order(a) - order(b));
  }
  // A short name: the method, and what differs from its defaults.
  label(column) {
    return [column.method, ...Object.entries(column.values ?? {}).map(([name, value]) => `${name} ${clip_words(String(value), 24)}`)].join(", ");
  }
}
const clip_words = (text, most) => text.length > most ? `${text.slice(0, most - 1)}\u2026` : text;

class SettingsDialog {
  constructor(catalogue) {
    this.catalogue = catalogue;
    this.dialog = by_id("settings");
    this.form = by_id("settings-form");
    this.dialog.addEventListener("click", event => { if (event.target === this.dialog) this.dialog.close(); });
    this.dialog.addEventListener("close", () => this.done && this.done());
    by_id("settings-close").addEventListener("click", () => this.dialog.close());
    by_id("settings-reset").addEventListener("click", () => { this.column.values = {}; this.fill(); });
  }
  open(column, done) {
    this.column = column;
    this.done = done;
    this.fill();
    this.dialog.showModal();
  }
  fill() {
    const {form, catalogue, column} = this, method = catalogue.method(column.method);
    form.replaceChildren();
    const field = this.field(form, "method", method.help), select = make("select", undefined, undefined, {id: "setting-method", "aria-describedby": "help-method", autofocus: ""});
    field.insertBefore(select, field.lastChild);
    options(select, catalogue.methods.map(one => [one.name, one.name]));
    select.value = column.method;
    select.addEventListener("change", () => {
      const known = new Set(catalogue.settings_of(select.value).map(setting => setting.name));
      column.values = Object.fromEntries(Object.entries(column.values).filter(([name]) => known.has(name) || name === "seed"));
      column.method = select.value;
      this.fill();
      by_id("setting-method").focus();
    });
    const settings = catalogue.settings_of(column.method), usual = settings.filter(setting => FIRST_SETTINGS.includes(setting.name));
    for (const setting of usual) this.row(form, setting);
    const more = make("details", form, undefined, {class: "more"});
    make("summary", more, "More settings");
    for (const setting of settings.filter(setting => !usual.includes(setting))) this.row(more, setting);
    this.row(more, {name: "seed", type: "int", default: 0, min: 0, help: "The same seed, question and settings give the same answer"});
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
    } else if (typeof setting.default === "number") {
      const whole_number = /int/i.test(setting.type ?? "");
      input = make("input", undefined, undefined, {...common, type: "number", step: whole_number ? 1 : "any", ...(setting.min !== undefined ? {min: setting.min, max: setting.max ?? ""} : {})});
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
    const range = typeof setting.default === "number" && setting.max !== undefined ? `, ${setting.min} to ${setting.max}` : "";
    const shown = String(setting.default).trim();
    return `${setting.help ?? ""} (default ${shown === "" ? "empty" : shown}${range})`;
  }
  change(setting, input) {
    const value = input.type === "checkbox" ? input.checked : input.type === "number" ? Number(input.value) : input.value;
    input.toggleAttribute("aria-invalid", !input.checkValidity() || input.type === "number" && input.value === "");
    if (input.hasAttribute("aria-invalid")) {
      input.setAttribute("aria-invalid", "true");
      input.reportValidity();
      return;
    }
    if (value === setting.default) delete this.column.values[setting.name];
    else this.column.values[setting.name] = value;
    if (setting.name === "contexts") this.show_pair(input, value);
  }
  show_pair(input, name) {
    const pair = this.catalogue.contexts.find(one => one.name === name), note = input.parentElement.querySelector(".note");
    note.textContent = pair ? `Positive: \u201c${pair.positive}\u201d Negative: \u201c${pair.negative}\u201d` : this.help({...this.catalogue.settings.get("contexts"), default: "reasoning"});
  }
}

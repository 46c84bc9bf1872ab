// The methods that answer, one to three: each opens its settings, and each but the first can be taken away.
const MOST_COLUMNS = 3;

class Columns {
  constructor(place, store, catalogue) {
    Object.assign(this, {place, store, catalogue});
    this.dialog = new SettingsDialog(catalogue);
    const known = store.columns.filter(column => catalogue.methods.some(method => method.name === column?.method));
    store.columns = known.length ? known.slice(0, MOST_COLUMNS).map(({method, values}) => ({method, values: values ?? {}})) : [{method: catalogue.methods[0].name, values: {}}];
    this.show();
  }
  show() {
    const {store, catalogue} = this;
    this.place.replaceChildren();
    store.columns.forEach((column, i) => {
      const chip = make("span", this.place, undefined, {class: "chip"}), label = catalogue.label(column);
      button(chip, label, () => this.dialog.open(column, () => this.changed()), {class: "method", title: catalogue.method(column.method).help, "aria-label": `Method ${i + 1}: ${label}. Change its settings`});
      if (store.columns.length > 1) button(chip, "\u2715", () => { store.columns.splice(i, 1); this.changed(); }, {class: "quiet", "aria-label": `Take away ${label}`});
    });
    if (store.columns.length < MOST_COLUMNS) button(this.place, "+ compare", () => this.add(), {class: "quiet add-column", "aria-label": "Add a method to compare"});
  }
  // The first method that is not there yet.
  add() {
    const {store, catalogue} = this, used = new Set(store.columns.map(column => column.method));
    const next = catalogue.methods.find(method => !used.has(method.name)) ?? catalogue.methods[0];
    store.columns.push({method: next.name, values: {}});
    this.changed();
  }
  changed() {
    this.store.save();
    this.show();
  }
}

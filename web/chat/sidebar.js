// The list of chats.
class Sidebar {
  constructor(store, traces, hooks) {
    Object.assign(this, {store, traces, hooks});  // hooks: open(), notice(text)
    by_id("new-chat").addEventListener("click", () => {
      const empty = store.conversations.find(one => !Object.keys(one.messages).length);
      if (empty) store.current_id = empty.id;
      else store.add(new_conversation());
      this.open();
    });
    by_id("export").addEventListener("click", async () => save_file(`${file_name(store.current.title)}.json`, await exported([store.current], traces)));
    by_id("export-all").addEventListener("click", async () => save_file("counterbeam-chats.json", await exported(store.conversations, traces)));
    by_id("import").addEventListener("click", () => by_id("import-file").click());
    by_id("import-file").addEventListener("change", event => this.import(event.target));
    for (const [id, open] of [["show-chats", true], ["hide-chats", false]]) by_id(id).addEventListener("click", () => by_id("app").classList.toggle("with-chats", open));
  }
  async import(input) {
    const [file] = input.files;
    input.value = "";
    if (!file) return;
    try {
      const count = await import_chats(await file.text(), this.store, this.traces);
      this.open();
      this.hooks.notice(`Imported ${plural(count, "chat")}.`, false);
    } catch (error) { this.hooks.notice(error.message); }
  }
  open() {
    by_id("app").classList.remove("with-chats");
    this.store.save();
    this.show();
    this.hooks.open();
  }
  show() {
    const list = by_id("chats"), {current} = this.store;
    list.replaceChildren();
    for (const conversation of this.store.conversations) {
      const row = make("div", list, undefined, {class: "chat-row"}), here = conversation === current;
      button(row, conversation.title, () => { this.store.current_id = conversation.id; this.open(); }, {class: "quiet chat-name", title: conversation.title, ...(here ? {"aria-current": "page"} : {})});
      button(row, "\u270e", () => this.rename(conversation), {class: "quiet rename", "aria-label": `Rename ${conversation.title}`});
      button(row, "\u2715", () => this.remove(conversation), {class: "quiet remove", "aria-label": `Delete ${conversation.title}`});
    }
  }
  rename(conversation) {
    const title = prompt("Name of the chat", conversation.title);
    if (!title || !title.trim()) return;
    conversation.title = title.trim();
    this.open();
  }
  remove(conversation) {
    if (!confirm(`Delete \u201c${conversation.title}\u201d?`)) return;
    for (const message of Object.values(conversation.messages)) if (message.search) this.traces.forget(message.search);
    this.store.remove(conversation);
    this.open();
  }
}
const file_name = title => title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 40) || "chat";

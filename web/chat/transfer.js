// Chats as files: {"format": "counterbeam-chat", "version": 1, "exported", "conversations": [...], "traces": {search id: trace}}.
// docs/page.md describes the fields.
async function exported(conversations, traces) {
  const file = {format: "counterbeam-chat", version: 1, exported: new Date().toISOString(), conversations, traces: {}};
  for (const conversation of conversations) for (const message of Object.values(conversation.messages)) {
    const trace = message.search && await traces.read(message.search);
    if (trace) file.traces[message.search] = trace;
  }
  return file;
}
function save_file(name, content) {
  const address = URL.createObjectURL(new Blob([JSON.stringify(content)], {type: "application/json"}));
  make("a", undefined, undefined, {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
// Adds what is in a file to the store; returns how many chats. Errors say what is wrong with it, and nothing is added then.
async function import_chats(text, store, traces) {
  let file;
  try { file = JSON.parse(text); } catch (error) { throw new Error(`The file is not JSON: ${error.message}`); }
  if (file?.format !== "counterbeam-chat") throw new Error('The file is not an export of this page: "format" is not "counterbeam-chat".');
  if (file.version !== 1) throw new Error(`The file has version ${JSON.stringify(file.version)}; this page reads version 1.`);
  if (!Array.isArray(file.conversations)) throw new Error('The file has no list "conversations".');
  file.conversations.forEach((conversation, i) => {
    const fault = conversation_fault(conversation);
    if (fault) throw new Error(`Chat ${i + 1} of the file ${fault}.`);
  });
  for (const conversation of file.conversations.toReversed()) {
    const known = store.conversations.some(one => one.id === conversation.id);
    store.add({system: "", ...conversation, id: known ? random_id() : conversation.id});
  }
  for (const [id, trace] of Object.entries(file.traces ?? {})) if (Array.isArray(trace?.blocks)) await traces.write(id, trace);
  return file.conversations.length;
}

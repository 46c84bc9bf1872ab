# The pages that show a search, each as a list for embed() or embed_site(): the page, then its parts in the
# order in which their scripts run. They share web/tree and web/shared, and with the report its texts.
set(shared_text web/report/dom.js web/report/tex.js web/report/text.js web/report/diff.js)
set(tree_parts web/shared/theme.css web/tree/tree.css)
foreach(part model layout view paint draw pointer tokens formula candidate compare rerank replay block_table tree)
  list(APPEND tree_parts web/tree/${part}.js)
endforeach()

set(TRACE_PAGE web/trace/trace.html ${shared_text} ${tree_parts} web/trace/trace.css web/trace/main.js)

set(chat_parts web/shared/markdown.js web/chat/chat.css)
foreach(part sse api store traces settings answer messages transfer sidebar columns main)
  list(APPEND chat_parts web/chat/${part}.js)
endforeach()
set(CHAT_PAGE web/chat/index.html web/chat/favicon.svg ${shared_text} ${tree_parts} ${chat_parts})

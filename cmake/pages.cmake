# The pages of web/, each as a list for embed() or embed_site(): the page, then its parts in the order in
# which their scripts run. Parts that several pages use are in web/shared and web/tree.
set(shared_text web/shared/dom.js web/shared/tex.js web/shared/text.js web/shared/diff.js)
set(tree_parts web/shared/theme.css web/tree/tree.css)
foreach(part model layout view paint draw pointer tokens formula candidate compare rerank replay block_table tree)
  list(APPEND tree_parts web/tree/${part}.js)
endforeach()

set(report_parts report.css names.js data.js plot.js header.js accuracy.js charts.js differences.js costs.js answers.js
    questions.js export.js main.js)
list(TRANSFORM report_parts PREPEND web/report/)

set(REPORT_PAGE web/report/report.html ${shared_text} ${report_parts})
set(TRACE_PAGE web/trace/trace.html ${shared_text} ${tree_parts} web/trace/trace.css web/trace/main.js)

set(chat_parts web/shared/markdown.js web/chat/chat.css)
foreach(part sse api store traces settings answer messages transfer sidebar columns main)
  list(APPEND chat_parts web/chat/${part}.js)
endforeach()
set(CHAT_PAGE web/chat/index.html web/chat/favicon.svg ${shared_text} ${tree_parts} ${chat_parts})

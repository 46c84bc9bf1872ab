# The files that read what comes from outside. COUNTERBEAM_COVERAGE (clang) counts the branches that
# tests and fuzz corpora take in them, and in nothing else, so that one sanitized build serves both;
# `make coverage` prints the counts. A program writes them only where LLVM_PROFILE_FILE says.
set(COUNTERBEAM_PARSERS
  base/json.cpp base/json_cursor.cpp base/json_fields.cpp base/utf8.cpp
  tensor/safetensors.cpp tensor/shard_index.cpp
  text/tokenizer_file.cpp text/tokenizer_steps.cpp text/added_tokens.cpp text/chat_template_load.cpp
  text/regex_parse.cpp text/jinja/lexer.cpp text/jinja/parse_expressions.cpp text/jinja/parse_statements.cpp
  model/config.cpp model/config_layers.cpp model/config_rope.cpp
  search/method_strings.cpp
  eval/data_file.cpp eval/judge_report.cpp eval/own_tasks.cpp eval/samples.cpp eval/task_rows.cpp
  serve/chat_request.cpp serve/completion_request.cpp serve/fields.cpp serve/generation_request.cpp serve/http.cpp)

# count_branches(ROOM): for the parsers of that room; call it in the room's folder.
function(count_branches room)
  foreach(parser ${COUNTERBEAM_PARSERS})
    if(parser MATCHES "^${room}/")
      set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/${parser} APPEND PROPERTY
        COMPILE_OPTIONS -fprofile-instr-generate=/dev/null -fcoverage-mapping)
    endif()
  endforeach()
endfunction()
if(COUNTERBEAM_COVERAGE)
  add_link_options(-fprofile-instr-generate)
endif()

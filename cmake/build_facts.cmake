# Writes OUTPUT with the version and the commit of the sources, only if they have changed. Run at
# every build: cmake -DSOURCE=... -DVERSION=... -DOUTPUT=... -P build_facts.cmake
find_program(GIT git)
set(COMMIT "")
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT} -C ${SOURCE} diff --quiet HEAD -- src include CMakeLists.txt cmake web
                  RESULT_VARIABLE CHANGED ERROR_QUIET)
  if(COMMIT AND NOT CHANGED EQUAL 0)
    string(APPEND COMMIT "-modified")
  endif()
endif()
set(CONTENT "#include \"cli/build.h\"

namespace counterbeam::cli {

const std::string_view kVersion = \"${VERSION}\";
const std::string_view kCommit = \"${COMMIT}\";

}  // namespace counterbeam::cli
")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} FORMER)
endif()
if(NOT "${FORMER}" STREQUAL "${CONTENT}")
  file(WRITE ${OUTPUT} "${CONTENT}")
endif()

# embed(TARGET NAME FILE [PART...]): generates a source of the target that defines `extern const
# std::string_view kNAME` with the content of FILE. Each PART is the path of a file. Its content
# replaces the line "/*NAME_OF_PART*/" of FILE; without such a line, parts are put in the place of
# the line "/*styles*/" (.css) or "/*scripts*/" (.js), one after the other in the order given. The
# source is regenerated when a file changes.
function(embed target name file)
  file(READ ${PROJECT_SOURCE_DIR}/${file} EMBEDDED_TEXT)
  set(styles "")
  set(scripts "")
  foreach(part IN LISTS ARGN)
    get_filename_component(part_name ${part} NAME)
    get_filename_component(kind ${part} LAST_EXT)
    file(READ ${PROJECT_SOURCE_DIR}/${part} part_text)
    string(FIND "${EMBEDDED_TEXT}" "/*${part_name}*/\n" found)
    if(NOT found EQUAL -1)
      string(REPLACE "/*${part_name}*/\n" "${part_text}" EMBEDDED_TEXT "${EMBEDDED_TEXT}")
    elseif(kind STREQUAL ".css")
      string(APPEND styles "${part_text}")
    else()
      string(APPEND scripts "${part_text}")
    endif()
  endforeach()
  foreach(place IN ITEMS styles scripts)
    string(FIND "${EMBEDDED_TEXT}" "/*${place}*/\n" found)
    if(found EQUAL -1 AND NOT "${${place}}" STREQUAL "")
      message(FATAL_ERROR "${file}: has no line /*${place}*/ for the parts that have no line of their own")
    endif()
    string(REPLACE "/*${place}*/\n" "${${place}}" EMBEDDED_TEXT "${EMBEDDED_TEXT}")
  endforeach()
  foreach(source IN ITEMS ${file} ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${source})
  endforeach()
  set(EMBEDDED_NAME ${name})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT [==[
#include <string_view>
namespace counterbeam {
extern const std::string_view k@EMBEDDED_NAME@;
const std::string_view k@EMBEDDED_NAME@ = R"embedded(@EMBEDDED_TEXT@)embedded";
}  // namespace counterbeam
]==])
  target_sources(${target} PRIVATE ${generated})
endfunction()

# test_headers: every header of the project in one file, in alphabetical order and backwards, so that
# no two of them use a name differently. headers_alone: every header in a file of its own, so that
# each includes what it needs. Both only compile. The headers are globbed: a new one takes part.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/*.h)
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/*.h)
file(GLOB_RECURSE device_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/*.cuh)
list(APPEND headers ${public_headers})
if(NOT COUNTERBEAM_WITH_CUDA)
  list(FILTER headers EXCLUDE REGEX "^backend/cuda/")
  set(device_headers "")
endif()

# include_files(FILE HEADERS...): writes FILE, which includes the headers in this order.
function(include_files file)
  list(TRANSFORM ARGN REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE lines)
  list(JOIN lines "" content)
  file(CONFIGURE OUTPUT ${file} CONTENT "${content}" @ONLY)
endfunction()

# together(TARGET FOLDER EXTENSION HEADERS...): adds the two orders to the target.
function(together target folder extension)
  set(reversed ${ARGN})
  list(REVERSE reversed)
  include_files(${folder}/forwards.${extension} ${ARGN})
  include_files(${folder}/backwards.${extension} ${reversed})
  target_sources(${target} PRIVATE ${folder}/forwards.${extension} ${folder}/backwards.${extension})
endfunction()

# The widest CPU path, whose kernel headers need its instructions.
get_source_file_property(kernel_flags ${PROJECT_SOURCE_DIR}/src/backend/cpu/kernels_amx.cpp
                         DIRECTORY ${PROJECT_SOURCE_DIR}/src/backend COMPILE_OPTIONS)
set(folder ${CMAKE_CURRENT_BINARY_DIR}/headers)
add_library(test_headers OBJECT)
together(test_headers ${folder} cpp ${headers})
if(device_headers)
  together(test_headers ${folder} cu ${device_headers})
endif()
add_library(headers_alone OBJECT EXCLUDE_FROM_ALL)
foreach(header ${headers} ${device_headers})
  string(REGEX REPLACE "\\.h$" ".cpp" file ${header})
  string(REGEX REPLACE "\\.cuh$" ".cu" file ${file})
  include_files(${folder}/alone/${file} ${header})
  target_sources(headers_alone PRIVATE ${folder}/alone/${file})
endforeach()
foreach(target test_headers headers_alone)
  target_link_libraries(${target} PRIVATE counterbeam_diagnose counterbeam_serve)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${kernel_flags};-O0>")
endforeach()
add_dependencies(tests test_headers)

# compile_together(TARGET): the sources of a target are compiled in batches of eight, each as one
# file, which parses the headers once per batch: the whole program in half the time. The price is
# that names in anonymous namespaces must be unique within a room. COUNTERBEAM_UNITY=OFF compiles
# every file by itself; the preset debug does, so that a missing include is seen.
function(compile_together target)
  if(COUNTERBEAM_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# room(NAME NEEDS ...): builds one folder of src/, with all its sources, as the library
# counterbeam_NAME.
function(room name)
  cmake_parse_arguments(ROOM "" "" "NEEDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(reach PUBLIC)
  if(sources)
    add_library(counterbeam_${name} STATIC ${sources})
    compile_together(counterbeam_${name})
    instrument_room(${name})
  else()
    add_library(counterbeam_${name} INTERFACE)
    set(reach INTERFACE)
  endif()
  target_include_directories(counterbeam_${name} ${reach}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(counterbeam_${name} ${reach} ${ROOM_NEEDS})
endfunction()

# room_test(NAME NEEDS ...): builds tests/NAME/*.cpp as the test program test_NAME. The tests
# themselves are optimized a little, and under sanitizers not at all: compiling them takes longer
# than running them.
function(room_test name)
  cmake_parse_arguments(TEST "" "" "NEEDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(test_${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>
                         $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(test_${name} PRIVATE
    COUNTERBEAM_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    COUNTERBEAM_BINARY="$<TARGET_FILE:counterbeam>")
  target_link_libraries(test_${name} PRIVATE ${TEST_NEEDS} GTest::gtest_main GTest::gmock)
  add_dependencies(tests test_${name})
  gtest_discover_tests(test_${name} PROPERTIES TIMEOUT 300 DISCOVERY_TIMEOUT 60)
endfunction()

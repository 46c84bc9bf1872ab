# emulated_test(NAME TESTS ... KERNELS ... SOURCES ...): builds the test program test_NAME of the
# emulated GPU in tests/NAME, tests of tests/cuda, kernels of src/backend/cuda translated for the
# compiler of the host, and other sources of src/backend. Needs the headers of CUDA. The emulated
# GPU has few processors, so that small products divide their work in every way: tiles between
# thread blocks, and parts in clusters of them.
function(emulated_test name)
  cmake_parse_arguments(TEST "" "" "TESTS;KERNELS;SOURCES" ${ARGN})
  set(source ${PROJECT_SOURCE_DIR}/src)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/${name})
  set(to ${CMAKE_CURRENT_BINARY_DIR}/${name})
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${source} ${source}/backend/cuda/*.cuh)
  list(APPEND files backend/cuda/launch.h)
  list(TRANSFORM TEST_KERNELS REPLACE "(.+)" "backend/cuda/\\1.cu")
  list(APPEND files ${TEST_KERNELS})
  list(TRANSFORM files PREPEND ${source}/ OUTPUT_VARIABLE from)
  list(TRANSFORM files PREPEND ${to}/ OUTPUT_VARIABLE translated)
  list(TRANSFORM translated REPLACE "[.]cu$" ".cpp")
  add_custom_command(OUTPUT ${translated}
    COMMAND ${PYTHON3} -B ${folder}/translate.py ${source} ${to} ${files}
    DEPENDS ${from} ${folder}/translate.py VERBATIM)

  file(GLOB emulator CONFIGURE_DEPENDS ${folder}/*.cpp)
  list(TRANSFORM TEST_TESTS PREPEND cuda/)
  list(TRANSFORM TEST_SOURCES PREPEND ${source}/backend/)
  add_executable(test_${name} ${emulator} ${translated} ${TEST_TESTS} ${TEST_SOURCES})
  target_include_directories(test_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(test_${name} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(test_${name} PRIVATE counterbeam_tensor GTest::gtest_main GTest::gmock)
  # Optimised in every build: this is the device. nvcc has checked the warnings of kernels. They
  # reinterpret pairs of numbers as one word and back.
  set_source_files_properties(${emulator} PROPERTIES COMPILE_OPTIONS -O2)
  list(FILTER translated INCLUDE REGEX "[.]cpp$")
  set_source_files_properties(${translated} PROPERTIES COMPILE_OPTIONS
    "-O1;-w;-Wno-psabi;-fno-strict-aliasing;-I${folder}/headers;-iquote${to};-include;${folder}/device_code.h")
  set_source_files_properties(${TEST_TESTS} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O1>")

  add_dependencies(tests test_${name})
  gtest_discover_tests(test_${name} TEST_PREFIX Emulated. DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 ENVIRONMENT "EMULATED_PROCESSORS=4;EMULATED_SEED=1")
  gtest_discover_tests(test_${name} TEST_PREFIX Emulated20. TEST_FILTER *Split*:*Parts*:*Sums*
    DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 ENVIRONMENT "EMULATED_PROCESSORS=20")
endfunction()

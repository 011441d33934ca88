# Installs this build into a directory of its own, moves that, builds another project with it, and trains.
cmake_minimum_required(VERSION 3.25)

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what}: exited with ${code}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(place ${BUILD}/tests/package/run)
file(REMOVE_RECURSE ${place})
run("installing" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${place}/installed-here)
# No installed file may depend on the folder of the installation.
file(RENAME ${place}/installed-here ${place}/prefix)

file(COPY ${CMAKE_CURRENT_LIST_DIR}/project DESTINATION ${place})
file(COPY ${SOURCE}/examples/own_model.cpp DESTINATION ${place}/project)
run("configuring the other project" ${CMAKE_COMMAND} -S ${place}/project -B ${place}/build -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=${TYPE} -DCMAKE_PREFIX_PATH=${place}/prefix)
run("building the other project" ${CMAKE_COMMAND} --build ${place}/build --verbose)
if(output MATCHES "${SOURCE}/(core|nn|app|protocol|transport|worker)")
  message(FATAL_ERROR "the other project was built with sources of this one:\n${output}")
endif()

file(GLOB_RECURSE headers RELATIVE ${place}/prefix/include/steelyard ${place}/prefix/include/steelyard/*)
foreach(header engine.h run.h)
  if(NOT header IN_LIST headers)
    message(FATAL_ERROR "the package lacks ${header}")
  endif()
endforeach()
list(FILTER headers INCLUDE REGEX "internal/")
if(headers)
  message(FATAL_ERROR "the package has internal headers: ${headers}")
endif()

run("the installed program" ${place}/prefix/bin/steelyard --version)
if(NOT output MATCHES "^steelyard [0-9]")
  message(FATAL_ERROR "unexpected version text: ${output}")
endif()
foreach(file bin/steelyard share/doc/steelyard/LICENSE share/doc/steelyard/README.md share/doc/steelyard/docs/tutorial.md
    share/doc/steelyard/docs/decisions/index.md share/doc/steelyard/examples/jobs/quick.toml
    share/doc/steelyard/examples/own_model.cpp
    share/steelyard/jobs/digits.toml share/steelyard/digits/train-images-idx3-ubyte.gz share/doc/steelyard/examples/to_pytorch.py)
  if(NOT EXISTS ${place}/prefix/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
find_program(help2man help2man)
if(help2man)
  file(READ ${place}/prefix/share/man/man1/steelyard.1 page)
  if(NOT page MATCHES "\nsteelyard .. trains neural networks" OR NOT page MATCHES "\n.SH EXAMPLES\n"
      OR NOT page MATCHES "\n75\nstopped on request or by a temporary problem\n")
    message(FATAL_ERROR "the man page lacks purpose, examples or exit codes:\n${page}")
  endif()
  file(READ ${place}/prefix/share/man/man1/steelyard-train.1 page)
  if(NOT page MATCHES "resume.-from.*\ncontinue from this checkpoint directory\n")
    message(FATAL_ERROR "the man page of train lacks an option:\n${page}")
  endif()
endif()
# Completion as a shell calls it: `steelyard train --res` has two completions.
file(WRITE ${place}/complete.bash ". '${place}/prefix/share/bash-completion/completions/steelyard'
  COMP_WORDS=(steelyard train --res) COMP_CWORD=2
  _steelyard
  echo \"\${COMPREPLY[*]}\"
  COMP_WORDS=(steelyard simulate x.toml --policy st) COMP_CWORD=4
  _steelyard
  echo \"\${COMPREPLY[*]}\"\n")
run("completing" bash ${place}/complete.bash)
if(NOT output STREQUAL "--resume --resume-from\nstatic steelyard\n")
  message(FATAL_ERROR "completion offers: ${output}")
endif()
# A program that links the static libraries has all rows: it lists the rows of the build's program (after its first
# line and its own rows), at least one for each source file.
foreach(kind policy model data)
  run("help ${kind} of the build" ${BUILD}/bin/steelyard help ${kind})
  string(FIND "${output}" "\n  " begin)
  string(SUBSTRING "${output}" ${begin} -1 listed)
  run("help ${kind} of the other project" ${place}/build/own_model help ${kind})
  string(FIND "${output}" "${listed}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "help ${kind}: the package lists\n${output}\nand the build\n${listed}")
  endif()
  string(REGEX MATCHALL "\n  [a-z]" names_${kind} "${listed}")
endforeach()
foreach(folder balancing/policy nn/models worker/data/sets)
  string(REGEX REPLACE ".*/(policy|model|data).*" "\\1" kind ${folder})
  file(GLOB files ${SOURCE}/${folder}/*.cpp)
  list(LENGTH files files)
  list(LENGTH names_${kind} names)
  if(names LESS files)
    message(FATAL_ERROR "${files} files in ${folder}, and the package lists ${names} names")
  endif()
endforeach()
run("training" ${place}/build/own_model train ${SOURCE}/examples/jobs/own_model.toml
  --set train.epochs=3 --run-dir ${place}/training)
file(READ ${place}/training/result.json result)
string(JSON outcome GET "${result}" outcome)
string(JSON accuracy GET "${result}" accuracy)
if(NOT outcome STREQUAL "finished" OR accuracy LESS 0.9)
  message(FATAL_ERROR "the training ended as '${outcome}' with accuracy ${accuracy}:\n${output}")
endif()
file(REMOVE_RECURSE ${place})

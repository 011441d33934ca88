# Writes the man pages into INTO with help2man, from the help of PROGRAM: steelyard.1, and steelyard-COMMAND.1 for each
# listed command. The installation runs it: cmake -DPROGRAM=... -DHELP2MAN=... -DVERSION=... -DINTO=... -P
function(man_page page command purpose)
  execute_process(COMMAND ${HELP2MAN} --no-info --section=1 --version-string=${VERSION} --name=${purpose}
      ${command} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  # help2man gives the words of the command; a page is named by one word.
  string(REGEX REPLACE "(\n\\.SH NAME\n)[^\n]* (\\\\- )" "\\1${page} \\2" text "${text}")
  # Indented paragraphs are examples and keep their line breaks.
  string(REGEX REPLACE "\n\\.IP\n(([^.\n][^\n]*\n)+)" "\n.IP\n.nf\n\\1.fi\n" text "${text}")
  file(WRITE ${INTO}/${page}.1 "${text}")
endfunction()

execute_process(COMMAND ${PROGRAM} --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE ${INTO})
file(MAKE_DIRECTORY ${INTO})
man_page(steelyard ${PROGRAM} "trains neural networks on machines of unequal speed")
string(REGEX REPLACE ".*\nSubcommands:\n" "" commands "${help}")
string(REGEX REPLACE "\n\n.*" "" commands "${commands}")
string(REPLACE ";" "," commands "${commands}")
string(REPLACE "\n" ";" commands "${commands}")
foreach(line IN LISTS commands)
  if(line MATCHES "^  ([a-z]+) +(.*)$")
    man_page(steelyard-${CMAKE_MATCH_1} "${PROGRAM} ${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}")
  endif()
endforeach()

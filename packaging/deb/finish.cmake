# CPack runs this on the installed components before it makes packages of them: adds files that only a Debian package
# has, and compresses what Debian wants compressed.
set(staged ${CPACK_TEMPORARY_DIRECTORY})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(COPY ${CMAKE_CURRENT_LIST_DIR}/files/ DESTINATION ${staged}/program)
file(REMOVE ${staged}/program/usr/share/doc/steelyard/LICENSE)  # Debian has the text in /usr/share/common-licenses
file(GLOB pages ${staged}/program/usr/share/man/man1/*)
run(gzip -9n ${pages})

# Python finds the library in its package, and programs in C among those of the system.
file(MAKE_DIRECTORY ${staged}/python3/usr/lib/python3/dist-packages/steelyard/lib)
file(GLOB library RELATIVE ${staged}/program/usr/lib ${staged}/program/usr/lib/*/libsteelyard.so)
file(CREATE_LINK ../../../../${library} ${staged}/python3/usr/lib/python3/dist-packages/steelyard/lib/libsteelyard.so
  SYMBOLIC)

file(GLOB_RECURSE archives ${staged}/development/*.a)
run(strip --strip-debug --enable-deterministic-archives ${archives})

execute_process(COMMAND date --utc --rfc-email --date=@$ENV{SOURCE_DATE_EPOCH} OUTPUT_VARIABLE date
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
foreach(component program development python3)
  string(TOUPPER ${component} upper)
  set(documents ${staged}/${component}/usr/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright ${documents}/copyright COPYONLY)
  file(WRITE ${documents}/changelog "steelyard (${CPACK_PACKAGE_VERSION}) stable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}: the package steelyard has CHANGELOG.md.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
  run(gzip -9n ${documents}/changelog)
endforeach()

# Makes the opening comment of a header (the // lines below its include guard) the documentation of that file, as it stands.
# Every line keeps its number. The inline namespace of the version is left out, because users write goodput::Job.
/^(}  \/\/ )?namespace goodput::inline v[0-9_]+/ { sub(/::inline v[0-9_]+/, "") }
NR == 3 && /^$/ { print "/** \\file"; opened = 1; next }
NR == 4 && opened && /^\/\// { sub(/^\/\/ ?/, ""); print "\\verbatim " $0; chapter = 1; next }
NR == 4 && opened { print "*/" $0; next }
chapter && /^\/\// { sub(/^\/\/ ?/, ""); print; next }
chapter { print "\\endverbatim */" $0; chapter = 0; next }
{ print }

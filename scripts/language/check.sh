#!/bin/sh
# Searches hand-written text for the words of terms.txt, which the glossary replaces. allowed.txt lists the lines that may
# contain such a word, for example in names of columns and API fields.
#
#   sh scripts/language/check.sh CODESPELL          CODESPELL is the path of the program; prints each hit
#   sh scripts/language/check.sh CODESPELL count    prints the number of hits in each folder
set -eu
cd "$(dirname "$0")/../.."
codespell=$1

# The parts of an identifier are words, too: TestHonestResidual has three words.
words='[A-Z]+(?![a-z])|[A-Z]?[a-z]+'
# A pattern for the field exam in openapi.yaml and in its examples, which is no hit.
fields='\bexam: (\{|null)|, exam[],]'

generated='^api/api\.gen\.go$|^api/python/src/loadaware_client/'
words_of_this_check='^scripts/language/|^docs/glossary\.md$'
list=$(git ls-files '*.go' '*.py' '*.sql' '*.yaml' '*.yml' '*.md' '*.sh' | grep -Ev "$generated|$words_of_this_check")

# search prints the hits in the files whose names it reads from standard input.
search() {
	xargs "$codespell" -D scripts/language/terms.txt -x scripts/language/allowed.txt -r "$words" --ignore-regex "$fields"
}

if [ "${2:-}" = count ]; then
	echo "$list" | search | cut -d: -f1 | xargs -n1 dirname | sort | uniq -c | sort -rn
	exit
fi
echo "$list" | search || {
	echo 'check words: use the word after the arrow or the one in docs/glossary.md; if the word is a released name, such as that of a column or a JSON field, add the line to scripts/language/allowed.txt' >&2
	exit 1
}

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Prints the Debian mirror that apt on this machine uses, or nothing.

# shellcheck disable=SC2016
apt-get indextargets --format '$(LABEL)|$(RELEASE)|$(REPO_URI)' 'Created-By: Packages' |
	awk -F'|' '
	$2 ~ /security|updates|backports/ { next }
	$1 == "Debian" && !found { found = $3 }
	$2 ~ /^(bookworm|trixie|stable|oldstable)$/ && !guess { guess = $3 }
	END { print found ? found : guess }'

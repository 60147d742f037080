// SPDX-License-Identifier: MIT
// Zooms and searches; what lies where is in the data- attributes: weight to the left
// of a frame, its own, and its depth.
(function () {
	"use strict";
	var MARGIN = 10, LETTER = 7, NARROWEST = 0.1;
	var svg = document.documentElement;
	var width = Number(svg.getAttribute("width")) - 2 * MARGIN;
	var frames = [], all = null, term = "";

	function byId(id) {
		return document.getElementById(id);
	}

	function show(element, shown) {
		element.setAttribute("visibility", shown ? "visible" : "hidden");
	}

	// The text of a title ends in figures in parentheses.
	function read(group) {
		var title = group.querySelector("title").textContent;
		var rect = group.querySelector("rect");

		return {
			group: group, rect: rect, text: group.querySelector("text"), title: title,
			name: title.slice(0, title.lastIndexOf(" (")), fill: rect.getAttribute("fill"),
			start: Number(group.getAttribute("data-s")),
			size: Number(group.getAttribute("data-n")),
			depth: Number(group.getAttribute("data-d")), found: false
		};
	}

	function shorten(name, room) {
		var letters = Array.from(name), most = Math.floor(room / LETTER);

		if (most < 3)
			return "";
		return letters.length <= most ? name : letters.slice(0, most - 2).join("") + "..";
	}

	function place(frame, x, wide, above) {
		frame.group.style.display = wide < NARROWEST ? "none" : "";
		frame.group.classList.toggle("above", above);
		if (wide < NARROWEST)
			return;
		frame.rect.setAttribute("x", x);
		frame.rect.setAttribute("width", wide);
		frame.text.setAttribute("x", x + 3);
		frame.text.textContent = shorten(frame.name, wide);
	}

	function zoom(to) {
		var scale = width / to.size, end = to.start + to.size;

		frames.forEach(function (frame) {
			var last = frame.start + frame.size;

			if (frame.depth < to.depth && frame.start <= to.start && last >= end)
				place(frame, MARGIN, width, true);
			else if (frame.depth >= to.depth && frame.start >= to.start && last <= end)
				place(frame, MARGIN + (frame.start - to.start) * scale,
				      frame.size * scale, false);
			else
				place(frame, 0, 0, false);
		});
		show(byId("reset"), to !== all);
	}

	// A frame within one that was found adds nothing.
	function share() {
		var found = frames.filter(function (frame) { return frame.found; });
		var sum = 0, end = -1;

		found.sort(function (a, b) { return a.start - b.start || a.depth - b.depth; });
		found.forEach(function (frame) {
			if (frame.start < end)
				return;
			sum += frame.size;
			end = frame.start + frame.size;
		});
		return (100 * sum / all.size).toFixed(2);
	}

	// The share of what matches the regular expression, in percent.
	function search(wanted) {
		var expression = null;

		try {
			expression = wanted ? new RegExp(wanted) : null;
		} catch (error) {
			byId("matched").textContent = error.message;
			return null;
		}
		term = wanted;
		frames.forEach(function (frame) {
			frame.found = Boolean(expression && expression.test(frame.name));
			frame.rect.setAttribute("fill", frame.found ? "rgb(230,0,230)" : frame.fill);
		});
		byId("search").textContent = term ? "Reset search (Esc)" : "Search (Ctrl-F)";
		byId("matched").textContent = term ? "Matched: " + share() + " %" : " ";
		return term ? share() : null;
	}

	function ask() {
		var wanted = term ? "" : prompt("Functions, as a regular expression:", "");

		if (wanted !== null)
			search(wanted);
	}

	function onKey(event) {
		if (event.key === "f" && (event.ctrlKey || event.metaKey)) {
			event.preventDefault();
			term = "";
			ask();
		} else if (event.key === "Escape") {
			search("");
		}
	}

	document.querySelectorAll("g.f").forEach(function (group) {
		var frame = read(group);

		frames.push(frame);
		if (!all)
			all = frame;
		group.addEventListener("click", function () { zoom(frame); });
		group.addEventListener("mouseover", function () {
			byId("details").textContent = frame.title;
		});
		group.addEventListener("mouseout", function () {
			byId("details").textContent = " ";
		});
	});
	byId("reset").addEventListener("click", function () { zoom(all); });
	byId("search").addEventListener("click", ask);
	window.addEventListener("keydown", onKey);
	window.flamegraph = { search: search };
}());

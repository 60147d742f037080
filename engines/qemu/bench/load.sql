-- SPDX-License-Identifier: MIT
--
-- The work of sqlite3 in the emulated program: tables, indexes, sorting, recursion, strings,
-- and floating point, which QEMU emulates by C functions.

CREATE TABLE item(id INTEGER PRIMARY KEY, k INT, name TEXT, price REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
	INSERT INTO item SELECT i, i * 7919 % 1009, printf('item %06d', i * 31 % 20011), i * 1.37
	FROM n;
CREATE INDEX item_k ON item(k);
CREATE INDEX item_name ON item(name);
SELECT k, count(*), round(sum(price), 2), max(name) FROM item GROUP BY k ORDER BY 3 DESC LIMIT 3;
SELECT count(*), round(avg(a.price * b.price), 3) FROM item a JOIN item b ON a.k = b.k + 1
	WHERE a.name < b.name;
SELECT count(*) FROM item WHERE name LIKE '%1%2%' OR upper(substr(name, -3)) > '500';
WITH RECURSIVE
	x(v) AS (SELECT -2.0 UNION ALL SELECT v + 0.1 FROM x WHERE v < 1.2),
	y(v) AS (SELECT -1.0 UNION ALL SELECT v + 0.1 FROM y WHERE v < 1.0),
	m(step, cx, cy, a, b) AS (
		SELECT 0, x.v, y.v, 0.0, 0.0 FROM x, y
		UNION ALL
		SELECT step + 1, cx, cy, a * a - b * b + cx, 2.0 * a * b + cy FROM m
		WHERE a * a + b * b < 4.0 AND step < 28)
	SELECT sum(step), round(sum(a), 4) FROM (SELECT max(step) AS step, a FROM m GROUP BY cx, cy);
SELECT length(group_concat(hex(name), '')) FROM (SELECT name FROM item ORDER BY price * -1, name);
DELETE FROM item WHERE id % 3 = 0;
UPDATE item SET name = name || k WHERE k % 2;
SELECT count(DISTINCT name), min(price), max(price) FROM item;

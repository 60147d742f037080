-- SPDX-License-Identifier: MIT
--
-- A shorter version of load.sql.

CREATE TABLE item(id INTEGER PRIMARY KEY, k INT, name TEXT, price REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)
	INSERT INTO item SELECT i, i * 7919 % 1009, printf('item %06d', i * 31 % 20011), i * 1.37
	FROM n;
SELECT k, count(*), round(sum(price), 2), max(name) FROM item GROUP BY k ORDER BY 3 DESC LIMIT 3;

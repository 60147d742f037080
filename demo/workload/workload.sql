-- SPDX-License-Identifier: MIT
-- Generated data, indexes, joins, aggregates, window functions, sorting, text
-- search and JSON, in memory.
PRAGMA cache_size = -65536;
BEGIN;
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, price REAL);
CREATE TABLE sale(id INTEGER PRIMARY KEY, customer INTEGER, item INTEGER,
		  quantity INTEGER, day INTEGER);

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO customer
SELECT i, printf('customer %05d', i * 7919 % 2000), 'city ' || (i % 37) FROM n;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
INSERT INTO item SELECT i, 'item ' || hex(i * 2654435761 % 65536), i % 97 + 0.5
FROM n;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000)
INSERT INTO sale
SELECT i, i * 48271 % 2000 + 1, i * 16807 % 500 + 1, i % 9 + 1, i * 31 % 365
FROM n;
COMMIT;

CREATE INDEX sale_customer ON sale(customer, day);
CREATE INDEX sale_item ON sale(item);
CREATE INDEX customer_city ON customer(city, name);
ANALYZE;

SELECT c.city, count(*), round(sum(s.quantity * i.price), 2) AS total
FROM sale s JOIN customer c ON c.id = s.customer JOIN item i ON i.id = s.item
GROUP BY c.city ORDER BY total DESC LIMIT 3;

SELECT count(*), sum(r) FROM (
	SELECT rank() OVER (PARTITION BY customer ORDER BY quantity DESC, day) AS r
	FROM sale);

SELECT max(a), min(b) FROM (
	SELECT lower(c.name || i.name) AS a, upper(i.name) AS b
	FROM sale s JOIN customer c ON c.id = s.customer
	JOIN item i ON i.id = s.item
	WHERE c.name LIKE '%9%' ORDER BY a, b DESC);

SELECT count(*) FROM customer a
WHERE EXISTS (SELECT 1 FROM sale s WHERE s.customer = a.id AND s.day < 5)
AND a.city IN (SELECT city FROM customer GROUP BY city HAVING count(*) > 50);

SELECT sum(json_extract(j, '$.q') * json_array_length(j, '$.d')) FROM (
	SELECT json_object('q', quantity, 'd', json_array(day, item, customer)) AS j
	FROM sale LIMIT 50000);

CREATE VIRTUAL TABLE word USING fts4(body);
INSERT INTO word SELECT c.name || ' ' || c.city || ' ' || i.name
FROM sale s JOIN customer c ON c.id = s.customer JOIN item i ON i.id = s.item
WHERE s.id <= 10000;
SELECT count(*) FROM word WHERE word MATCH 'city AND item NOT 00001';

UPDATE sale SET quantity = quantity + 1 WHERE item % 7 = 0;
DELETE FROM sale WHERE day > 300;
SELECT count(*), sum(quantity), count(DISTINCT customer) FROM sale;

-- SPDX-License-Identifier: MIT
-- Expressions of all kinds, compiled, in the backend and in parallel workers; errors too.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TABLE rows AS SELECT i, i % 97 AS k, md5(i::text) AS t, (i * 1.5)::numeric AS n,
	date '2000-01-01' + i % 4000 AS d, CASE WHEN i % 11 <> 0 THEN i::float8 / 3 END AS f
	FROM generate_series(1, 20000) i;
ALTER TABLE rows SET (parallel_workers = 2);
CREATE FUNCTION twice(a int) RETURNS int LANGUAGE plpgsql PARALLEL SAFE AS
	'BEGIN RETURN CASE WHEN a % 2 = 0 THEN a * 2 ELSE a + a END; END';
CREATE FUNCTION fails(a int) RETURNS int LANGUAGE plpgsql AS
	'BEGIN RETURN 1 / (a - 5); EXCEPTION WHEN division_by_zero THEN RETURN -1; END';
ANALYZE rows;
SELECT k, sum(n * 2 + i), max(md5(t || k)), count(*) FILTER (WHERE i % 7 = 3)
	FROM rows WHERE t LIKE '%a%b%' OR length(t) + k > 40 GROUP BY k ORDER BY k;
SELECT sum(twice(i)), count(DISTINCT upper(t)) FROM rows WHERE i % 3 <> 1;
SELECT a.k, count(*) FROM rows a JOIN rows b ON a.i = b.i + 1
	WHERE a.n + b.n > 3 AND a.t < b.t GROUP BY 1 ORDER BY 1;
SELECT sum(fails(i)) FROM rows WHERE i < 10;
SELECT i / (i - 7) FROM rows WHERE i < 10 ORDER BY i;
SELECT t::int FROM rows WHERE i = 3;
SELECT extract(year FROM d) AS y, count(*), avg(f)::numeric(20, 6), stddev(n)::numeric(20, 6)
	FROM rows GROUP BY y ORDER BY y;
SELECT k, array_agg(i ORDER BY i DESC) FILTER (WHERE i < 500) FROM rows GROUP BY k HAVING k < 5 ORDER BY k;
SELECT i, rank() OVER (PARTITION BY k ORDER BY t), lag(n) OVER (ORDER BY i) FROM rows
	WHERE i BETWEEN 100 AND 120 ORDER BY i;
WITH RECURSIVE r(a, b) AS (SELECT 0::numeric, 1::numeric UNION ALL SELECT b, a + b FROM r WHERE b < 1e30)
	SELECT max(a) FROM r;
SELECT count(*) FROM rows WHERE t ~ '^[a-f].*[0-9]$' AND (f IS NULL OR f > 100) AND k IN (1, 2, 3, 5, 8);
SELECT jsonb_object_agg(k, c ORDER BY k) FROM (SELECT k, count(*) c FROM rows GROUP BY k) s;
SELECT coalesce(f, -1)::int, nullif(k, 3), greatest(i, k, 7), row(i, k) < row(5, 5) FROM rows WHERE i < 20 ORDER BY i;
SELECT grouping(k), k, count(*) FROM rows WHERE k < 4 GROUP BY ROLLUP (k) ORDER BY 1, 2;
UPDATE rows SET n = n + 1 WHERE k = 3 AND twice(i) > 100;
DELETE FROM rows WHERE i % 13 = 5 RETURNING NULL;
SELECT count(*), sum(n), sum(hashtext(t)) FROM rows;
SELECT relkind, count(*) > 0 FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid GROUP BY 1 ORDER BY 1;
SELECT count(*) > 100 FROM information_schema.columns;

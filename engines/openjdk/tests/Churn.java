// SPDX-License-Identifier: MIT
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Lambdas, streams, recursion, exceptions, reflection and interfaces, in several threads. */
public class Churn {
	interface Shape { double area(); }
	record Square(double a) implements Shape { public double area() { return a * a; } }
	record Circle(double r) implements Shape { public double area() { return Math.PI * r * r; } }
	record Box(double a, double b) implements Shape { public double area() { return a * b; } }

	static volatile Object sink;

	static int ackermann(int m, int n) {
		return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
	}

	static int fall(int depth) {
		if (depth == 0)
			throw new IllegalStateException("bottom");
		try {
			return fall(depth - 1) + 1;
		} catch (ArithmeticException e) {
			return 0;
		}
	}

	static <T> Function<T, T> compose(List<Function<T, T>> all) {
		return all.stream().reduce(Function.identity(), Function::andThen);
	}

	static void streams(int seed) {
		Map<Integer, List<String>> byLength = IntStream.range(0, 300)
			.mapToObj(i -> Integer.toString(i * seed, 7) + "x".repeat(i % 13))
			.sorted(Comparator.comparing(String::length).thenComparing(Comparator.reverseOrder()))
			.collect(Collectors.groupingBy(String::length));
		sink = byLength;
		List<Function<BigInteger, BigInteger>> steps = new ArrayList<>();
		for (int i = 0; i < 10; i++) {
			BigInteger k = BigInteger.valueOf(i + seed);
			steps.add(x -> x.multiply(k).add(BigInteger.ONE));
		}
		sink = compose(steps).apply(BigInteger.valueOf(seed));
	}

	static void shapes(int seed) {
		Shape[] shapes = { new Square(seed), new Circle(seed), new Box(seed, 2) };
		double sum = 0;
		for (int i = 0; i < 1000; i++)
			sum += shapes[i % 3].area() + Math.sin(i) + Math.pow(i, 0.3);
		sink = sum;
	}

	static void throwing(int seed) {
		try {
			sink = fall(5 + seed % 40);
		} catch (IllegalStateException e) {
			sink = e.getMessage();
		}
		try {
			sink = Churn.class.getDeclaredMethod("ackermann", int.class, int.class).invoke(null, 2, 3);
		} catch (ReflectiveOperationException e) {
			throw new AssertionError(e);
		}
	}

	static void maps(int seed) {
		Map<String, Integer> counts = new HashMap<>();
		for (int i = 0; i < 500; i++)
			counts.merge("key" + (i * seed) % 97, 1, Integer::sum);
		synchronized (Churn.class) {
			sink = counts.entrySet().stream().mapToInt(Map.Entry::getValue).sum();
		}
	}

	static void work(int seed, int rounds, long end) {
		for (int i = seed; i < seed + rounds && System.nanoTime() < end; i++) {
			streams(i);
			shapes(i);
			throwing(i);
			maps(i);
			sink = ackermann(2, 60 + i % 50);
			sink = String.format("%d %s %.3f", i, "text", i / 3.0);
		}
	}

	/** The argument is SECONDS, or xROUNDS: rounds of each thread. */
	public static void main(String[] args) throws InterruptedException {
		boolean counted = args[0].startsWith("x");
		int rounds = counted ? Integer.parseInt(args[0].substring(1)) : 1 << 30;
		long seconds = counted ? 1 << 30 : Long.parseLong(args[0]);
		long end = System.nanoTime() + seconds * 1_000_000_000L;
		List<Thread> threads = new ArrayList<>();
		for (int t = 1; t < 3; t++) {
			int seed = t;
			Thread thread = new Thread(() -> work(seed * 1000, rounds, end));
			thread.start();
			threads.add(thread);
		}
		work(1, rounds, end);
		for (Thread thread : threads)
			thread.join();
	}
}

// SPDX-License-Identifier: MIT
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;

/** Virtual threads that yield and continue deep in their stacks. For JDK 21 and later. */
public class Virtual {
	static int climb(int depth, int seed) {
		if (depth == 0) {
			for (int i = 0; i < 5; i++) {
				LockSupport.parkNanos(1000);
				seed = mix(seed, 2000);
			}
			return seed;
		}
		return mix(climb(depth - 1, seed + depth), 300);
	}

	static int mix(int x, int n) {
		for (int i = 0; i < n; i++)
			x = x * 31 + (x >>> 7) + Integer.bitCount(x ^ i);
		return x;
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		int sum = 0;
		try (ExecutorService all = Executors.newVirtualThreadPerTaskExecutor()) {
			while (System.nanoTime() < end) {
				List<Future<Integer>> futures = new ArrayList<>();
				for (int i = 0; i < 50; i++) {
					int seed = i;
					futures.add(all.submit(() -> climb(seed % 40, seed)));
				}
				for (Future<Integer> future : futures)
					sum += future.get();
			}
		}
		System.out.println(sum);
	}
}

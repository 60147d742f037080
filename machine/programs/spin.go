// SPDX-License-Identifier: MIT

// Goroutines that call themselves, in a program without the C library.
package main

import "sync"

//go:noinline
func climb(n int) int {
	if n == 0 {
		return 1
	}
	return climb(n-1) + n
}

func main() {
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for {
				climb(20)
			}
		}()
	}
	all.Wait()
}

package main

import (
	"fmt"
	"os"
)

func Example() {
	if err := run(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// reward            order            sum of rewards     by the log   of short jobs
	// flow              longest waiting           -7512          -7512   22 %
	// flow              shortest first            -6460          -6460   12 %
	// bounded slowdown  longest waiting         -235576        -235576   99 %
	// bounded slowdown  shortest first          -115035        -115035   99 %
}

// Connects RUNS times with Go's dialer and prints the milliseconds of each; "-" for an attempt that made no
// connection within LIMIT seconds (10).
//
//	connect RUNS HOST PORT [mptcp]
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

func main() {
	runs, _ := strconv.Atoi(os.Args[1])
	limit, err := strconv.Atoi(os.Getenv("LIMIT"))
	if err != nil {
		limit = 10
	}
	dialer := net.Dialer{Timeout: time.Duration(limit) * time.Second}
	dialer.SetMultipathTCP(len(os.Args) > 4)
	for range runs {
		start := time.Now()
		connection, err := dialer.Dial("tcp", net.JoinHostPort(os.Args[2], os.Args[3]))
		if err != nil {
			fmt.Println("-")
			continue
		}
		fmt.Printf("%.2f\n", float64(time.Since(start).Microseconds())/1000)
		connection.Close()
		time.Sleep(30 * time.Millisecond)
	}
}

// A static program whose runtime makes its system calls itself: client HOST:PORT.
package main

import (
	"bytes"
	"io"
	"net"
	"os"
)

func main() {
	connection, err := net.Dial("tcp", os.Args[1])
	if err != nil {
		panic(err)
	}
	connection.Write([]byte("GET /file HTTP/1.0\r\n\r\n"))
	answer, err := io.ReadAll(connection)
	if err != nil {
		panic(err)
	}
	_, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
	os.Stdout.Write(body)
}

package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"evalctl/daemon/fetch"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "tea at four")
	}))
	defer server.Close()

	_, err := fetch.New(fetch.Options{}).Get(context.Background(), server.URL)
	fmt.Println(errors.Is(err, fetch.ErrAddress))

	page, err := fetch.New(fetch.Options{AllowPrivate: true}).Get(context.Background(), server.URL)
	fmt.Println(page.ContentType, string(page.Body), err)
	// Output:
	// true
	// text/plain tea at four <nil>
}

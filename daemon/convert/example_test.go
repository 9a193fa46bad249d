package convert_test

import (
	"context"
	"fmt"

	"evalctl/daemon/convert"
)

func Example() {
	kind, err := convert.KindOf("", "text/html; charset=utf-8", "clock.html")
	if err != nil {
		fmt.Println(err)
		return
	}
	page := `<title>The clock</title><h1>The clock</h1>
<p>It struck <em>twice</em>, as the <a href="https://example.org/">makers</a> say.</p>
<ul><li>mainspring<li>escape wheel</ul><script>track()</script>`
	doc, err := convert.Convert(context.Background(), kind, "clock.html", []byte(page))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("title:", doc.Title)
	fmt.Print(doc.Markdown)
	// Output:
	// title: The clock
	// # The clock
	//
	// It struck *twice*, as the [makers](https://example.org/) say.
	//
	// - mainspring
	// - escape wheel
}

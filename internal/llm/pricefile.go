package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"evalctl/internal/inputfile"
)

// PriceFile is a table of prices and the day for which they hold, as 2006-01-02.
type PriceFile struct {
	Date   string
	Prices Prices
}

const priceFileForm = `{"date": "2026-03-21", "models": {"gpt-4o": {"input": 2.50, "output": 10}}}`

// ReadPrices reads a JSON file such as {"date": "2026-03-21", "models": {"gpt-4o": {"input": 2.50,
// "output": 10}}}, in dollars per million tokens. Both keys are required. Keys that are unknown,
// missing or repeated are errors with path:line.
func ReadPrices(path string) (PriceFile, error) {
	data, err := inputfile.ReadText(path, inputfile.Small)
	if err != nil {
		return PriceFile{}, fmt.Errorf("read the prices: %w", err)
	}
	f, line, err := parsePrices(data)
	if err != nil {
		return PriceFile{}, fmt.Errorf("%s:%d: %w; write %s, in dollars per million tokens", path, line, err, priceFileForm)
	}
	return f, nil
}

// parsePrices returns the line of an error, counted from 1.
func parsePrices(data []byte) (f PriceFile, line int, err error) {
	p := priceParser{dec: json.NewDecoder(bytes.NewReader(data)), file: PriceFile{Prices: Prices{}}}
	p.dec.UseNumber()
	if err = p.parse(); err != nil {
		at := p.dec.InputOffset()
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = e.Offset
		}
		return PriceFile{}, 1 + bytes.Count(data[:min(at, int64(len(data)))], []byte("\n")), err
	}
	return p.file, 0, nil
}

// priceParser reads token by token: encoding/json's Unmarshal accepts repeated keys.
type priceParser struct {
	dec  *json.Decoder
	file PriceFile
}

func (p *priceParser) parse() error {
	err := p.object("the file", []string{"date", "models"}, func(key string) error {
		if key == "models" {
			return p.object("models", nil, p.model)
		}
		text, err := p.token()
		if err != nil {
			return err
		}
		p.file.Date, _ = text.(string)
		if _, err := time.Parse(time.DateOnly, p.file.Date); err != nil {
			return errors.New(`"date" is not a day such as "2026-03-21"`)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the table")
	}
	return nil
}

func (p *priceParser) model(name string) error {
	if name == "" {
		return errors.New("a model has no name")
	}
	var price Price
	err := p.object("model "+quote(name), []string{"input", "output"}, func(key string) error {
		value, err := p.token()
		if err != nil {
			return err
		}
		number, ok := value.(json.Number)
		if !ok {
			return fmt.Errorf("%q of model %s is not a number", key, quote(name))
		}
		usd, err := ParseUSD(number.String())
		if key == "input" {
			price.Input = usd
		} else {
			price.Output = usd
		}
		return err
	})
	p.file.Prices[name] = price
	return err
}

// object reads an object and calls value for each key. If keys are given, the object must have
// exactly these.
func (p *priceParser) object(what string, keys []string, value func(key string) error) error {
	if t, err := p.token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("%s is not an object", what)
	}
	wanted := map[string]bool{}
	for _, key := range keys {
		wanted[key] = true
	}
	seen := map[string]bool{}
	for p.dec.More() {
		t, err := p.token()
		if err != nil {
			return err
		}
		key := t.(string) // the decoder accepts no other key
		switch {
		case seen[key]:
			return fmt.Errorf("%s has key %s twice", what, quote(key))
		case keys != nil && !wanted[key]:
			return fmt.Errorf("%s has an unknown key %s", what, quote(key))
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	if _, err := p.token(); err != nil {
		return err
	}
	for _, key := range keys {
		if !seen[key] {
			return fmt.Errorf("%s has no key %q", what, key)
		}
	}
	return nil
}

func (p *priceParser) token() (json.Token, error) {
	t, err := p.dec.Token()
	if errors.Is(err, io.EOF) {
		err = errors.New("the file ends too early")
	}
	return t, err
}

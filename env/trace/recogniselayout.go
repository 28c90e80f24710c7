package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// recognise finds out the layout of a file, and opens its rows.
func (r *Reader) recognise(in *bufio.Reader) (layout, error) {
	head, _ := in.Peek(headBytes) // the error comes again
	named := r.opt.Format
	for _, l := range layouts() {
		switch looks := l.looks != nil && l.looks(head); {
		case named != "" && named != l.format:
		case looks && l.instead != "":
			return l, fmt.Errorf("%s: %w", r.name, formatError(l.instead))
		case looks, named != "" && l.open != nil && !l.headed(head):
			rows, names, err := l.open(in, r.opt)
			if r.rows = rows; err == nil {
				err = r.choose(&l, newHeader(names))
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", r.name, err)
			}
			return l, err
		}
	}
	if err := unreadable(head); err != nil {
		return layout{}, fmt.Errorf("%s: %w", r.name, err)
	}
	text, h, err := openText(in, r.opt)
	if r.rows = text; errors.Is(err, io.EOF) {
		return layout{}, fmt.Errorf("%s: empty file, want a CSV header", r.name)
	}
	l := layouts()[0]
	if err == nil && len(r.opt.Columns) == 0 {
		l, r.columns, err = chooseLayout(named, h)
	} else if err == nil {
		err = r.choose(&l, h)
	}
	if err != nil {
		return l, r.at(err)
	}
	return l, nil
}

// choose finds the columns of a file of which the format is known, or which Options.Columns name.
func (r *Reader) choose(l *layout, h *header) (err error) {
	named := r.opt.Format
	switch {
	case len(r.opt.Columns) == 0 && l.needs != nil:
		return l.needs
	case len(r.opt.Columns) == 0:
		r.columns, _, _ = l.match(h)
		return nil
	case l.given == nil && named != "" && named != Native:
		return fmt.Errorf("columns are for files in no known format, this one is named %s", named)
	case l.given == nil && l.format != Native:
		return fmt.Errorf("columns are for files in no known format, this one has the format %s", l.format)
	}
	r.columns, err = r.opt.Columns.pick(h, l.given)
	return err
}

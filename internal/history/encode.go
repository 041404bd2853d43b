package history

import (
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"lockbench/locks"
)

// AppendEvent writes an event as one line, with its newline. It writes every
// field that is set, whether or not the event's kind has it, so that reading
// gives back what was written. It fails only for facts that one object cannot
// express.
func AppendEvent(dst []byte, e *Event) ([]byte, error) {
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(e.Index), 10)
	dst = strconv.AppendInt(append(dst, `,"time":`...), int64(e.Time), 10)
	dst = appendProcess(dst, e)
	dst = append(dst, `,"type":"`...)
	dst = append(dst, e.Type.String()...)
	dst = append(dst, `","f":`...)
	dst = appendString(dst, e.F)
	dst = appendText(dst, `,"session":`, e.Session)
	dst = appendText(dst, `,"key":`, e.Key)
	if e.Mode == locks.Shared {
		dst = append(dst, `,"mode":"shared"`...)
	}
	dst = appendNumber(dst, `,"ttl":`, int64(e.TTL), e.TTL != 0)
	dst = appendNumber(dst, `,"wait":`, int64(e.Wait), e.Wait != 0)
	dst = appendNumber(dst, `,"until":`, int64(e.Until), e.HasUntil)
	if e.Strict {
		dst = append(dst, `,"strict":true`...)
	}
	if e.HasToken {
		dst = strconv.AppendUint(append(dst, `,"token":`...), e.Token, 10)
	}
	dst = appendText(dst, `,"resource":`, e.Resource)
	dst = appendNumber(dst, `,"value":`, e.Value, e.HasValue)
	if e.Extra != nil {
		var err error
		if dst, err = appendExtra(dst, e); err != nil {
			return dst, err
		}
	}
	dst = appendText(dst, `,"error":`, e.Error)
	return append(dst, '}', '\n'), nil
}

// Encode writes the history as JSON lines. Index is written as it stands in the
// events, so a part of a history keeps the numbers of the whole.
func (h *History) Encode(w io.Writer) error {
	line, err := appendHeader(nil, &h.Header)
	if err != nil {
		return err
	}
	for pos := range h.Events {
		if len(line) >= batchBytes {
			if _, err := w.Write(line); err != nil {
				return err
			}
			line = line[:0]
		}
		if line, err = AppendEvent(line, &h.Events[pos]); err != nil {
			return fmt.Errorf("encode event %d: %w", h.Events[pos].Index, err)
		}
	}
	_, err = w.Write(line)
	return err
}

func appendProcess(dst []byte, e *Event) []byte {
	dst = append(dst, `,"process":`...)
	other := e.Client != 0 // than what an absent client means
	switch e.Process {
	case Nemesis:
		dst = append(dst, `"nemesis"`...)
	case Probe:
		dst = append(dst, `"probe"`...)
	default:
		dst = strconv.AppendInt(dst, int64(e.Process), 10)
		other = e.Client != int32(e.Process)
	}
	return appendNumber(dst, `,"client":`, int64(e.Client), other)
}

func appendExtra(dst []byte, e *Event) ([]byte, error) {
	x := e.Extra
	dst = appendText(dst, `,"owner":`, x.Owner)
	dst = appendList(dst, `,"keys":`, x.Keys)
	dst = appendNumber(dst, `,"permits":`, int64(x.Permits), x.Permits != 0)
	dst = appendNumber(dst, `,"lease":`, int64(x.Lease), x.Lease != 0)
	if x.Renewed {
		dst = append(dst, `,"renewed":true`...)
	}
	dst = appendText(dst, `,"node":`, x.Node)
	dst = appendNumber(dst, `,"step":`, int64(x.Step), x.Step != 0)
	dst = appendList(dst, `,"targets":`, x.Targets)
	dst = appendText(dst, `,"phase":`, x.Phase)
	if !e.HasValue { // they share a name on the wire
		dst = appendText(dst, `,"value":`, x.Text)
	}
	if len(x.Facts) == 0 {
		return dst, nil
	}
	return appendFacts(append(dst, `,"facts":`...), x.Facts)
}

func appendNumber(dst []byte, name string, n int64, there bool) []byte {
	if !there {
		return dst
	}
	return strconv.AppendInt(append(dst, name...), n, 10)
}

func appendText(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return appendString(append(dst, name...), text)
}

func appendList(dst []byte, name string, list []string) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(dst, name...)
	for i, text := range list {
		if i == 0 {
			dst = append(dst, '[')
		} else {
			dst = append(dst, ',')
		}
		dst = appendString(dst, text)
	}
	return append(dst, ']')
}

// appendString writes a text in quotes. What is no UTF-8 becomes U+FFFD.
func appendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return append(appendEscaped(append(dst, text[:i]...), text[i:]), '"')
		}
	}
	return append(append(dst, text...), '"')
}

func appendEscaped(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	for _, r := range text { // a wrong byte is ranged over as U+FFFD
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
)

// fieldBlocks are the parts of docs/reference/formats.md, from the comments of structs.
func fieldBlocks() []block {
	const page = "docs/reference/formats.md"
	return []block{{page, "history", "internal/history", historyFields}, {page, "result", "internal/report", resultFields}}
}

// historyFields has the fields of a history.
func historyFields() (string, error) {
	const dir = "internal/history"
	return fieldTables([]section{
		{"The header, which is the first line", dir, "Header"},
		{"`bounds` of the header", dir, "Bounds"},
		{"A step of `plan`", dir, "PlanStep"},
		{"`claims`", "locks", "Claims"},
		{"An event, which is every other line", dir, "wireLine"},
		{"`facts` of an event of process `probe`", dir, "Facts"},
	})
}

// resultFields has the fields of result.json.
func resultFields() (string, error) {
	const report, stats, checks = "internal/report", "internal/stats", "checker"
	return fieldTables([]section{
		{"The run", report, "Result"},
		{"An element of `locks`", report, "Lock"},
		{"`acquires`", stats, "Acquires"},
		{"`rate`", stats, "Rate"},
		{"`unordered`", stats, "Unordered"},
		{"A value of `latency_ms` and `acquire_ms`, and `overlap_ms`", stats, "Latency"},
		{"An element of `faults`", report, "FaultTimes"},
		{"An element of `checks`", checks, "Result"},
		{"An element of `findings`", checks, "Finding"},
		{"`counterexample`", report, "Counterexample"},
		{"An element of its `lines`", report, "Line"},
		{"Its `scene`", report, "Scene"},
	})
}

// section is a struct that is a JSON object of a file.
type section struct{ title, dir, name string }

// fieldTables has a table for each struct: its fields in JSON, with the comments of the source.
func fieldTables(sections []section) (string, error) {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteString("\n")
		}
		rows, err := fieldsOf(s.dir, s.name)
		if err != nil {
			return "", err
		}
		if len(rows) == 0 {
			return "", fmt.Errorf("%s.%s has no fields in JSON", s.dir, s.name)
		}
		fmt.Fprintf(&b, "**%s**\n\n%s", s.title, table([]string{"field", "type", "meaning"}, rows))
	}
	return b.String(), nil
}

var (
	jsonTag = regexp.MustCompile(`json:"([^",]+)`)
	verb    = regexp.MustCompile(`^(is|are|has|means that|counts) `)
)

// fieldsOf reads the fields of a struct from the source. Embedded structs are parts of it.
func fieldsOf(dir, name string) (rows [][]string, err error) {
	of, err := structOf(dir, name)
	if err != nil {
		return nil, err
	}
	for _, f := range of.Fields.List {
		if len(f.Names) == 0 {
			embedded := f.Type
			if star, ok := embedded.(*ast.StarExpr); ok {
				embedded = star.X
			}
			var inner [][]string
			switch e := embedded.(type) {
			case *ast.Ident:
				inner, err = fieldsOf(dir, e.Name)
			case *ast.SelectorExpr:
				inner, err = fieldsOf(filepath.Join("internal", e.X.(*ast.Ident).Name), e.Sel.Name)
			}
			if err != nil {
				return nil, err
			}
			rows = append(rows, inner...)
			continue
		}
		if f.Tag == nil {
			continue
		}
		tag := jsonTag.FindStringSubmatch(f.Tag.Value)
		if tag == nil || tag[1] == "-" {
			continue
		}
		meaning := oneLine(f.Comment.Text())
		if meaning == "" {
			meaning = oneLine(f.Doc.Text())
		}
		if meaning == "" {
			return nil, fmt.Errorf("field %s of %s.%s has no comment", tag[1], dir, name)
		}
		if rest, ok := strings.CutPrefix(meaning, f.Names[0].Name+" "); ok {
			meaning = verb.ReplaceAllString(rest, "")
		}
		meaning = strings.TrimSuffix(meaning, ".")
		rows = append(rows, []string{"`" + tag[1] + "`", typeOf(f.Type), strings.ReplaceAll(meaning, "|", "\\|")})
	}
	return rows, nil
}

// structOf finds the declaration of a struct.
func structOf(dir, name string) (*ast.StructType, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range parsed.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if declared, ok := spec.(*ast.TypeSpec); ok && declared.Name.Name == name {
					if s, ok := declared.Type.(*ast.StructType); ok {
						return s, nil
					}
				}
			}
		}
	}
	return nil, fmt.Errorf("%s has no struct %s", dir, name)
}

// typeOf names the JSON type of a field.
func typeOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeOf(e.X)
	case *ast.ArrayType:
		return "list"
	case *ast.MapType:
		return "object"
	case *ast.SelectorExpr:
		return namedType(e.Sel.Name)
	case *ast.Ident:
		return namedType(e.Name)
	}
	return ""
}

func namedType(name string) string {
	switch name {
	case "string", "Quiet", "Topology", "Verdict", "Class", "Mode", "Type":
		return "text"
	case "int", "int32", "int64", "uint64", "float64":
		return "number"
	case "bool":
		return "true, false"
	case "Duration":
		return "nanoseconds"
	case "Time":
		return "time"
	case "Model":
		return "text or list"
	case "Process", "value":
		return "number or text"
	}
	return "object"
}

// Package dataset reads the input of an evaluation: a JSONL file of questions and a corpus of
// documents. It checks both before use, and assigns questions and documents to brains.
//
// Open checks a dataset, LoadCorpus a corpus, and Dataset.Brains joins them. Errors of lines are
// LineErrors with file and line number.
package dataset

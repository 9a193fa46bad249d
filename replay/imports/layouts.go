package imports

// Paths that select answer objects at any depth.
const (
	withGolden = "$..[?@.question && @.golden_answer]"
	withAnswer = "$..[?@.question && @.answer]"
)

// layouts are the recognised layouts in order of preference.
var layouts = []layout{
	{
		name: LoCoMoAudit, title: "the LoCoMo audit, and results of EverMemOS",
		conversations: "$", answers: withGolden,
		needs: []string{"question", "golden_answer", "generated_answer"}, lacks: []string{"judge_result"},
		fields: map[string][]string{
			fieldID: {"$.question_id"}, fieldQuestion: {"$.question"}, fieldGold: {"$.golden_answer"},
			fieldAnswer: {"$.generated_answer"}, fieldVerdict: {"$.llm_judgments.*", "$.is_correct"}, fieldCategory: {"$.category"},
			fieldPosition: {"$.question_index", "$.qa_idx"},
		},
	},
	{
		name: Zep, title: "LoCoMo experiments of Zep and MemOS",
		conversations: "$", answers: withGolden,
		needs: []string{"question", "answer", "golden_answer"}, lacks: []string{"response", "generated_answer", "judge_result"},
		fields: map[string][]string{
			fieldID: {"$.question_id"}, fieldQuestion: {"$.question"}, fieldGold: {"$.golden_answer"},
			fieldAnswer: {"$.answer"}, fieldVerdict: {"$.grade", "$.llm_judgments.*"}, fieldCategory: {"$.category"},
			fieldMS:       {"$.duration_ms", "$.total_duration_ms", "$.response_duration_ms"},
			fieldPosition: {"$.question_index", "$.qa_idx"},
		},
	},
	{
		name: MemoryBench, title: "conversations of memorybench",
		conversations: "$..[?@.qa]", answers: "$.qa[*]",
		needs: []string{"question", "answer", "providerAnswer"},
		fields: map[string][]string{
			fieldConversation: {"$.sample_id"}, fieldQuestion: {"$.question"}, fieldGold: {"$.answer"},
			fieldAnswer: {"$.providerAnswer"}, fieldCategory: {"$.category"}, fieldVerdict: {"$.judge.label", "$.label"},
		},
	},
	{
		name: MemoryBench, title: "reports of memorybench",
		conversations: "$", answers: "$.evaluations[*]",
		needs: []string{"questionId", "question", "hypothesis", "groundTruth"},
		fields: map[string][]string{
			fieldID: {"$.questionId"}, fieldQuestion: {"$.question"}, fieldGold: {"$.groundTruth"}, fieldAnswer: {"$.hypothesis"},
			fieldVerdict: {"$.label", "$.score"}, fieldReason: {"$.explanation"}, fieldType: {"$.questionType"},
			fieldMS: {"$.totalDurationMs", "$.answerDurationMs"}, fieldModel: {"$.answeringModel"}, fieldJudge: {"$.judge"},
			fieldBenchmark: {"$.benchmark"},
		},
	},
	{
		name: ByType, title: "answers by the type of question, of Backboard and DeltaMemory",
		conversations: "$", answers: "$..[?@.question && @.ai_response]",
		needs: []string{"question", "expected_answer", "ai_response"},
		fields: map[string][]string{
			fieldConversation: {"$.conversation_id"}, fieldQuestion: {"$.question"}, fieldGold: {"$.expected_answer"},
			fieldAnswer: {"$.ai_response"}, fieldVerdict: {"$.evaluation.is_correct"}, fieldReason: {"$.evaluation.reasoning"},
			fieldType: {"$.question_type"}, fieldCategory: {"$.category"}, fieldSeconds: {"$.response_time"}, fieldID: {"$.question_id"},
		},
	},
	{
		name: PerQuestion, title: "the report of ironmem",
		conversations: "$", answers: "$..[?@.question && @.generated_answer]",
		needs: []string{"question", "ground_truth", "generated_answer"},
		fields: map[string][]string{
			fieldID: {"$.question_id"}, fieldConversation: {"$.conversation_id"}, fieldQuestion: {"$.question"},
			fieldGold: {"$.ground_truth"}, fieldAnswer: {"$.generated_answer"}, fieldVerdict: {"$.score", "$.is_correct"},
			fieldType: {"$.category"}, fieldCategory: {"$.category_int"}, fieldModel: {"$.answerer_model"}, fieldJudge: {"$.judge_model"},
			fieldBenchmark: {"$['benchmark','dataset_version']"}, fieldError: {"$.error"},
		},
	},
	{
		name: JudgeResult, title: "answers with the reply of a judge, of openclaw",
		conversations: "$", answers: "$..[?@.question && @.judge_result]",
		needs: []string{"question", "answer", "judge_result"},
		fields: map[string][]string{
			fieldConversation: {"$.user_id"}, fieldQuestion: {"$.question"}, fieldGold: {"$.golden_answer", "$.ground_truth", "$.expected_answer"},
			fieldAnswer: {"$.answer"}, fieldVerdict: {"$.judge_result.label", "$.judge_result.score"},
			fieldReason: {"$.judge_result.reasoning"}, fieldCategory: {"$.category"},
			fieldRetrieved: {"$.context_ids[*]"},
		},
	},
	{
		name: Memobase, title: "LoCoMo evaluations of Mem0, Memobase, MIRIX and Nemori",
		conversations: "$", answers: withAnswer,
		needs: []string{"question", "answer", "response"}, lacks: []string{"golden_answer"},
		fields: map[string][]string{
			fieldID: {"$.question_id"}, fieldQuestion: {"$.question"}, fieldGold: {"$.answer"}, fieldAnswer: {"$.response"},
			fieldVerdict: {"$.llm_score", "$.llm_judge", "$.is_correct"}, fieldCategory: {"$.category"}, fieldType: {"$.question_type"},
			fieldSeconds: {"$.response_time"}, fieldPosition: {"$.question_index", "$.qa_idx"},
		},
	},
	{
		name: LongMemEval, title: "LongMemEval hypotheses",
		conversations: "$", answers: "$[*]",
		needs: []string{"question_id", "hypothesis"},
		fields: map[string][]string{
			fieldID: {"$.question_id"}, fieldQuestion: {"$.question"}, fieldGold: {"$.answer"},
			fieldAnswer: {"$.hypothesis"}, fieldVerdict: {"$.autoeval_label.label"}, fieldType: {"$.question_type"},
			fieldRetrieved: {"$.retrieval_results.ranked_items[*].corpus_id"},
			fieldJudge:     {"$.autoeval_label.model"}, fieldInput: {"$.usage.prompt_tokens"}, fieldOutput: {"$.usage.completion_tokens"},
		},
	},
	{
		name: LongMemEval, title: "retrieval logs of LongMemEval",
		conversations: "$", answers: "$[*]",
		needs: []string{"question_id", "retrieval_results"},
		fields: map[string][]string{
			fieldID: {"$.question_id"}, fieldQuestion: {"$.question"}, fieldGold: {"$.answer"}, fieldType: {"$.question_type"},
			fieldAnswer: {"$.hypothesis"}, fieldRetrieved: {"$.retrieval_results.ranked_items[*].corpus_id"},
		},
	},
	{
		name: Queries, title: "answers to queries, of agent-memory-benchmark",
		conversations: "$", answers: "$..[?@.query_id && @.query]",
		needs: []string{"query_id", "query", "answer"},
		fields: map[string][]string{
			fieldID: {"$.query_id"}, fieldConversation: {"$.meta.sample_id"}, fieldQuestion: {"$.query"}, fieldGold: {"$.gold_answers[*]", "$.gold_answer"},
			fieldAnswer: {"$.answer"}, fieldVerdict: {"$.score", "$.correct"}, fieldReason: {"$.judge_reason"},
			fieldType: {"$.meta.category", "$.meta.question_type"}, fieldModel: {"$.answer_llm"}, fieldJudge: {"$.judge_llm"},
			fieldBenchmark: {"$['dataset','split']"},
		},
	},
	{
		name: Lines, title: "JSON lines of evalctl",
		conversations: "$", answers: "$[*]",
		needs: []string{"id", "answer", "passed"},
		fields: map[string][]string{
			fieldID: {"$.id"}, fieldQuestion: {"$.question"}, fieldGold: {"$.reference_answer"},
			fieldAnswer: {"$.answer"}, fieldVerdict: {"$.passed"}, fieldReason: {"$.reason"},
			fieldMS: {"$.latency_ms"},
		},
	},
	{
		name: Letta, title: "results of letta-evals",
		conversations: "$", answers: "$[*]",
		needs: []string{"sample_id", "submissions", "grades"}, several: "$.grades",
		verdictOf: []string{"$.grades[%s].score"},
		fields: map[string][]string{
			fieldID: {"$.sample_id"}, fieldAnswer: {"$.submissions[%s]"}, fieldReason: {"$.grades[%s].rationale"},
			fieldModel: {"$.model_handle"}, fieldSeconds: {"$.timing.target"}, fieldInput: {"$.usage.prompt_tokens"},
			fieldOutput: {"$.usage.completion_tokens"}, fieldError: {"$.error.message", "$.error"},
		},
	},
	{
		name: Letta, title: "results of letta-evals, each in a line of its own",
		conversations: "$", answers: "$..[?@.sample && @.grade]",
		needs: []string{"sample", "submission", "grade"},
		fields: map[string][]string{
			fieldID: {"$.sample.id"}, fieldQuestion: {"$.sample.input"}, fieldGold: {"$.sample.ground_truth"}, fieldAnswer: {"$.submission"},
			fieldVerdict: {"$.grade.score"}, fieldReason: {"$.grade.rationale"}, fieldModel: {"$.model_name"},
		},
	},
	{
		name: Letta, title: "the suite of letta-evals, which has the questions",
		conversations: "$", answers: "$.samples[?@.input && @.ground_truth]",
		needs: []string{"id", "input", "ground_truth"}, lacks: []string{"output", "scores"},
		fields: map[string][]string{fieldID: {"$.id"}, fieldQuestion: {"$.input"}, fieldGold: {"$.ground_truth"}},
	},
	{
		name: LangSmith, title: "experiments of LangSmith",
		conversations: "$", answers: "$..[?@.inputs && (@.outputs || @.actual_outputs || @.error)]",
		needs: []string{"inputs"}, several: "$['feedback_stats','feedback','evaluation_scores']", usual: "correctness",
		verdictOf: []string{
			"$.feedback_stats[%s].avg", "$.feedback[%s].score", "$.feedback[%s]", "$.evaluation_scores[?@.key==%s].score",
		},
		fields: map[string][]string{
			fieldID:       {"$.reference_example_id", "$.example_id", "$.row_id", "$.id"},
			fieldQuestion: {"$.inputs.question", "$.inputs.input", "$.inputs.query", "$.inputs.*", "$.inputs"},
			fieldGold: {
				"$.reference_outputs.answer", "$.reference_outputs.*", "$.expected_outputs.answer", "$.expected_outputs.*",
				"$.reference_outputs", "$.expected_outputs",
			},
			fieldAnswer: {
				"$.outputs.answer", "$.outputs.output", "$.outputs.response", "$.actual_outputs.answer", "$.outputs.*", "$.actual_outputs.*",
				"$.outputs",
			},
			fieldVerdict: {"$.correctness"}, fieldError: {"$.error"}, fieldSeconds: {"$.latency", "$.execution_time"}, fieldInput: {"$.prompt_tokens"}, fieldOutput: {"$.completion_tokens"},
		},
	},
	{
		name: Promptfoo, title: "results of promptfoo",
		conversations: "$", answers: "$..[?@.vars && @.success]",
		needs: []string{"vars", "success", "provider"}, systems: []string{"$.provider.id", "$.promptIdx"},
		failureScored: true,
		fields: map[string][]string{
			fieldQuestion: {"$.vars.question", "$.vars.query", "$.vars.input", "$.vars.prompt", "$.prompt.raw"},
			fieldGold: {
				"$.vars.expected", "$.vars.expected_answer", "$.vars.reference", "$.vars.gold", "$.vars.answer",
				"$.testCase.assert[?@.type=='equals'].value", "$.testCase.assert[*].value",
			},
			fieldAnswer: {"$.response.output"}, fieldVerdict: {"$.success"}, fieldReason: {"$.gradingResult.reason", "$.error"},
			fieldError: {"$.response.error", "$[?$.failureReason==2 && @==$.error]"}, // 1 is a failed assertion
			fieldModel: {"$.provider.label", "$.provider.id"}, fieldMS: {"$.latencyMs"}, fieldInput: {"$.response.tokenUsage.prompt"},
			fieldOutput: {"$.response.tokenUsage.completion"}, fieldCost: {"$.cost"},
		},
	},
	{
		name: Inspect, title: "logs of inspect_ai",
		conversations: "$", answers: "$.samples[*]",
		needs: []string{"id", "epoch", "input", "scores"}, several: "$.scores", status: "$.status",
		verdictOf: []string{"$.scores[%s].value"},
		right:     []string{"C"}, wrong: []string{"I", "N"}, half: []string{"P"},
		fields: map[string][]string{
			fieldID: {"$.id"}, fieldQuestion: {"$.input[?@.role=='user'].content", "$.input[-1].content", "$.input"}, fieldGold: {"$.target[*]", "$.target"},
			fieldAnswer: {"$.output.completion", "$.output.choices[0].message.content"}, fieldReason: {"$.scores[%s].explanation"},
			fieldError: {"$.error.message", "$.error"},
			fieldModel: {"$.output.model", "$.eval.model"}, fieldSeconds: {"$.total_time"}, fieldInput: {"$.output.usage.input_tokens"},
			fieldOutput: {"$.output.usage.output_tokens"}, fieldCost: {"$.output.usage.total_cost"}, fieldBenchmark: {"$.eval.task"},
		},
	},
}

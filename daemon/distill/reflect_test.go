package distill_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/distill"
	"evalctl/internal/llm/llmtest"
)

func TestReflectWithAModel(t *testing.T) {
	d, srv := scripted(t, llmtest.Reply{Text: `{"outcome":"Ana moved.","should_record_episode":true,"title":"# Move\n","episode":"# Move\n\n- Ana moved\n- to Porto","retry_feedback":null}`})
	got, use, err := d.Reflect(t.Context(), talk)
	want := distill.Reflection{Outcome: "Ana moved.", RecordEpisode: true, Title: "# Move", Episode: "Move\n\n- Ana moved\n- to Porto"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || use.Model != "m" {
		t.Errorf("%v, %+v: %s", err, use, diff)
	}
	if body := srv.Calls()[0].Messages[1].Content; strings.Contains(body, "Max") || strings.Contains(body, "so_far") {
		t.Errorf("request %s", body)
	}
	d, _ = scripted(t, llmtest.Reply{Text: `{"outcome":"Nothing.","should_record_episode":false,"title":"x","episode":"y","retry_feedback":"Ask."}`})
	got, _, err = d.Reflect(t.Context(), talk)
	if want := (distill.Reflection{Outcome: "Nothing.", Feedback: "Ask."}); got != want || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReflectOfAHostileModel(t *testing.T) {
	for name, tt := range map[string]struct{ reply, says string }{
		"prose":            {"The outcome is good.", "not one JSON object"},
		"no outcome":       {`{"should_record_episode":false}`, "outcome is missing"},
		"long outcome":     {`{"outcome":"` + strings.Repeat("a", 501) + `","should_record_episode":false}`, "outcome has 501"},
		"flag in text":     {`{"outcome":"a","should_record_episode":"true"}`, "should_record_episode is not true or false"},
		"no flag":          {`{"outcome":"a"}`, "should_record_episode is not true or false"},
		"no title":         {`{"outcome":"a","should_record_episode":true,"episode":"b"}`, "title is missing"},
		"no episode":       {`{"outcome":"a","should_record_episode":true,"title":"b","episode":"---"}`, "episode is missing or empty"},
		"long episode":     {`{"outcome":"a","should_record_episode":true,"title":"b","episode":"` + strings.Repeat("a", 6001) + `"}`, "episode has 6001"},
		"feedback a list":  {`{"outcome":"a","should_record_episode":false,"retry_feedback":[]}`, "retry_feedback is not a string"},
		"outcome in parts": {`{"outcome":{"text":"a"},"should_record_episode":false}`, "outcome is not a string"},
	} {
		bad := llmtest.Reply{Text: tt.reply}
		d, _ := scripted(t, bad, bad)
		got, _, err := d.Reflect(t.Context(), talk)
		if !errors.Is(err, distill.ErrReply) || !strings.Contains(err.Error(), tt.says) || got != (distill.Reflection{}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// TestReflectOnALongConversation: each window is read with the reflection on those before.
func TestReflectOnALongConversation(t *testing.T) {
	messages := []distill.Message{{Role: distill.RoleUser, Text: strings.Repeat("I walk and talk. ", 3000)}}
	n := 0
	d, srv := served(t, func(c llmtest.Call) llmtest.Reply {
		if n > 0 && !strings.Contains(c.Messages[1].Content, fmt.Sprintf(`"outcome":"Part %d."`, n)) {
			t.Errorf("request %d does not have the reflection before", n)
		}
		n++
		return llmtest.Reply{Text: fmt.Sprintf(`{"outcome":"Part %d.","should_record_episode":false}`, n), Input: 1}
	})
	got, use, err := d.Reflect(t.Context(), messages)
	calls := len(srv.Calls())
	if err != nil || calls < 4 || got.Outcome != fmt.Sprintf("Part %d.", calls) || use.Usage.InputTokens != calls {
		t.Errorf("%d requests: got %+v, %+v, %v", calls, got, use, err)
	}
}

func TestFakeReflection(t *testing.T) {
	got, use, err := fake(t).Reflect(t.Context(), []distill.Message{
		{Role: distill.RoleUser, Name: "Ana", Text: "Hi! I want to fly to Oslo on 3 June 2024.", At: wednesday},
		{Role: distill.RoleAssistant, Text: "Sure! I booked seat 12A on flight SK 4609."},
		{Role: distill.RoleTool, Text: "I am a tool that cost 99 euros in 2024."},
		{Role: distill.RoleUser, Name: "Ana", Text: "That is wrong, I asked for two seats."},
	})
	want := distill.Reflection{
		Outcome:       "Assistant: I booked seat 12A on flight SK 4609. Ana: That is wrong, I asked for two seats.",
		RecordEpisode: true,
		Title:         "Ana: I want to fly to Oslo on 3 June 2024.",
		Episode:       "- Ana: I want to fly to Oslo on 3 June 2024.\n- Assistant: I booked seat 12A on flight SK 4609.\n- Ana: That is wrong, I asked for two seats.",
		Feedback:      "The user objected: That is wrong, I asked for two seats.",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || use.Model != "fake" {
		t.Error(err, use, diff)
	}
	got, _, err = fake(t).Reflect(t.Context(), []distill.Message{
		{Role: distill.RoleUser, Text: "Hello! How are you?"}, {Role: distill.RoleAssistant, Text: "Great, thanks!"},
	})
	if want := (distill.Reflection{Outcome: "User: How are you? Assistant: Great, thanks!"}); got != want || err != nil {
		t.Errorf("small talk: got %+v, %v", got, err)
	}
	got, use, err = fake(t).Reflect(t.Context(), talk[:1])
	if got != (distill.Reflection{}) || use.Model != "" || err != nil {
		t.Errorf("nothing: got %+v, %+v, %v", got, use, err)
	}
	long := []distill.Message{{Role: distill.RoleUser, Text: "I was born in Lima in 1980. " + strings.Repeat("And so it goes on and on. ", 2000)}}
	got, _, err = fake(t).Reflect(t.Context(), long)
	if err != nil || !strings.Contains(got.Episode, "born in Lima") {
		t.Errorf("the beginning of a long message is lost: %+v, %v", got, err)
	}
}
